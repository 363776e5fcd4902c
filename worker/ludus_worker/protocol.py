"""The messages of engine.proto, made from its descriptor, which every recent protobuf package can read."""

from __future__ import annotations

import base64
from types import SimpleNamespace

from google.protobuf import descriptor_pool, message_factory

from .engine_descriptor import descriptor

#: Raised by every change that an older side would misread.
protocol = 4

_pool = descriptor_pool.DescriptorPool()
_pool.AddSerializedFile(base64.b64decode(descriptor))
service = _pool.FindServiceByName("ludus.engine.v1.Engine")


def _message(descriptor):
    return message_factory.GetMessageClass(descriptor)


methods = {method.name: (_message(method.input_type), _message(method.output_type)) for method in service.methods}
messages = SimpleNamespace(**{kind.__name__: kind for pair in methods.values() for kind in pair})
for _name in ("Lora", "NumberedReply", "SampleGroup", "SampleOptions"):
    setattr(messages, _name, _message(_pool.FindMessageTypeByName(f"ludus.engine.v1.{_name}")))
