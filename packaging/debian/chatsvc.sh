#!/bin/sh
# The command on a machine where the package is installed: with the service's configuration, unless another is asked for, and for root as the
# service's user.
packaged=/etc/chatsvc/config.yaml
export CHATSVC_CONFIG="${CHATSVC_CONFIG:-$packaged}"
set -- /usr/lib/chatsvc/chatsvc "$@"
if [ "$(id -u)" = 0 ] && [ "$CHATSVC_CONFIG" = "$packaged" ]; then set -- runuser -u chatsvc -- "$@"; fi
exec "$@"
