/*
 * assets.S - the bytes of the embedded files, and their table (assets.h).
 *
 * The paths are seen from the root of the repository. Add a file here, in the
 * order of the names; the Makefile finds that this depends on it. licenses.zst is
 * made there, by vendor/licenses.py; the schemas are made JSON by tool/yaml2json.c.
 */
#ifndef MPICH /* the folder of mpich.so, which is for this processor */
#define MPICH "build/"
#endif
	.macro	asset name, from="core/assets/"
	.section .rodata.assets,"a",%progbits
name\@:	.asciz	"\name"
data\@:	.incbin	"\from\name"
end\@:	.byte	0
	.section .data.rel.ro.assets,"aw",%progbits
	.quad	name\@, data\@, end\@ - data\@
	.endm

	.section .data.rel.ro.assets,"aw",%progbits
	.balign	8
	.globl	assets
	.type	assets, %object
assets:
	asset	"VERSION"
	asset	"licenses.zst", "build/"
	asset	"machine.json", "build/"
	asset	"manifests/access.yaml"
	asset	"manifests/cache-tokens.yaml"
	asset	"manifests/cache.yaml"
	asset	"manifests/config.yaml"
	asset	"manifests/manager.yaml"
	asset	"manifests/runtimes-job.yaml"
	asset	"manifests/strict.yaml"
	asset	"manifests/webhooks.yaml"
	asset	"mpich.so", MPICH
	asset	"page/icon.svg"
	asset	"page/live.css"
	asset	"page/page.css"
	asset	"page/page.js"
	asset	"page/uplot.css", "build/"
	asset	"page/uplot.js", "build/"
	asset	"runtimes/deepspeed-distributed.yaml"
	asset	"runtimes/flux-distributed.yaml"
	asset	"runtimes/jax-distributed.yaml"
	asset	"runtimes/mlx-distributed.yaml"
	asset	"runtimes/torch-distributed-with-cache-jobs.yaml"
	asset	"runtimes/torch-distributed-with-cache.yaml"
	asset	"runtimes/torch-distributed.yaml"
	asset	"runtimes/torchtune-llama3.2-1b.yaml"
	asset	"runtimes/torchtune-llama3.2-3b.yaml"
	asset	"runtimes/torchtune-qwen2.5-1.5b.yaml"
	asset	"runtimes/xgboost-distributed.yaml"
	asset	"runtimes/accelerate-distributed.yaml"
	asset	"runtimes/tensorflow-distributed.yaml"
	asset	"runtimes/trl-distributed.yaml"
	asset	"schema.json", "build/"
	asset	"torch/sitecustomize.py"
	asset	"v1.yaml"
	asset	"v2beta1.yaml"
	.quad	0, 0, 0
	.size	assets, . - assets

	.section .note.GNU-stack,"",%progbits
