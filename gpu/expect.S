/* thresholds.json, embedded: expect.h. */
	.section .rodata.gpu_thresholds,"a",%progbits
	.globl	gpu_thresholds
	.globl	gpu_thresholds_end
gpu_thresholds:
	.incbin	"gpu/thresholds.json"
gpu_thresholds_end:
	.byte	0

	.section .note.GNU-stack,"",%progbits
