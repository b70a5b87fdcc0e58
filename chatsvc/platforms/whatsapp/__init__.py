"""WhatsApp: the callbacks by which the Cloud API delivers messages and delivery statuses."""

from chatsvc.platforms.whatsapp.front_end import WhatsAppCallbacks

__all__ = ["WhatsAppCallbacks"]
