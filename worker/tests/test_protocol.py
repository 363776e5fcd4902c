import base64
import pathlib
import re
import tempfile
import unittest

from google.protobuf import descriptor_pb2

from ludus_worker import protocol
from ludus_worker.engine_descriptor import descriptor

folder = pathlib.Path(__file__).parents[1] / "ludus_worker"
typescript = folder.parents[1] / "src/engine/torch"


def parsed(serialized: bytes) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
    for message in file.message_type:
        for field in [*message.field, *(f for nested in message.nested_type for f in nested.field)]:
            field.ClearField("json_name")
    return file


class ProtocolTest(unittest.TestCase):
    def test_the_generated_code_is_that_of_the_proto(self):
        try:
            from grpc_tools import protoc
        except ImportError:
            self.skipTest("grpcio-tools is not installed")
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "set"
            arguments = ["protoc", f"--proto_path={folder}", f"--descriptor_set_out={out}", "engine.proto"]
            self.assertEqual(protoc.main(arguments), 0)
            file = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
        self.assertEqual(parsed(file.SerializeToString()), parsed(base64.b64decode(descriptor)))

    @unittest.skipUnless(typescript.exists(), "not in the repository")
    def test_both_sides_speak_the_same_protocol(self):
        text = re.search(r'fileDesc\("([^"]+)"', (typescript / "engine_pb.ts").read_text()).group(1)
        theirs = base64.b64decode(text + "=" * (-len(text) % 4))
        self.assertEqual(parsed(theirs), parsed(base64.b64decode(descriptor)))
        version = re.search(r"export const protocol = (\d+)", (typescript / "connection.ts").read_text()).group(1)
        self.assertEqual(int(version), protocol.protocol)


if __name__ == "__main__":
    unittest.main()
