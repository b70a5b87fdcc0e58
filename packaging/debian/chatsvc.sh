#!/bin/sh
# The command on a machine where the package is installed: the service's configuration, unless another is asked for.
export CHATSVC_CONFIG="${CHATSVC_CONFIG:-/etc/chatsvc/config.yaml}"
exec /usr/lib/chatsvc/chatsvc "$@"
