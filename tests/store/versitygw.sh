#!/bin/sh
# tests/store/versitygw.sh: versitygw, an S3 server over a folder; prints where the program is.
exec "$(dirname "$0")/program.sh" versitygw github.com/versity/versitygw/cmd/versitygw
