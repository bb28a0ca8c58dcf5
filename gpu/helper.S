/* The GPU helper (helper/, built for this machine's glibc), embedded: helper.c starts it. */
	.section .rodata.gpu_helper,"a",%progbits
	.balign	8
	.globl	gpu_helper_elf
	.globl	gpu_helper_end
gpu_helper_elf:
	.incbin	GPU_HELPER
gpu_helper_end:
	.byte	0

	.section .note.GNU-stack,"",%progbits
