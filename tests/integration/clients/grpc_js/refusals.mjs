// Makes calls that are refused and prints what a user of @grpc/grpc-js finds in the error.
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [address, calls, ...includeDirs] = process.argv.slice(-5);
const files = ["google/rpc/status.proto", "google/rpc/error_details.proto", "v0_1/feedback.proto"];
const types = loader.loadSync(files, { includeDirs, keepCase: true, enums: String, longs: String });
const bytes = (value) => value;
const client = new grpc.Client(address, grpc.credentials.createInsecure());

const decoded = (detail) => {
  const name = detail.type_url.split("/").pop();
  return { type: name, value: types[name].deserialize(detail.value) };
};

const refused = ({ kind, request, metadata }) =>
  new Promise((resolve) => {
    const sent = new grpc.Metadata();
    for (const [key, value] of Object.entries(metadata ?? {})) sent.set(key, value);
    const deadline = { deadline: Date.now() + 20_000 };
    const data = Buffer.from(JSON.stringify(request));
    const messages = [];
    const done = (error) => {
      const [raw] = error.metadata.get("grpc-status-details-bin");
      const status = raw ? types["google.rpc.Status"].deserialize(raw) : null;
      const others = error.metadata.getMap();
      delete others["grpc-status-details-bin"];
      resolve({
        code: error.code,
        message: error.details,
        instance: error instanceof Error,
        messages,
        metadata: Object.fromEntries(Object.entries(others).map(([key, value]) => [key, String(value)])),
        status: status && { code: status.code, message: status.message },
        details: status ? status.details.map(decoded) : [],
      });
    };
    if (kind === "Down") {
      const stream = client.makeServerStreamRequest("/probe.v1.Probe/Down", bytes, bytes, data, sent, deadline);
      stream.on("data", (message) => messages.push(message.length));
      stream.on("error", done);
    } else {
      client.makeUnaryRequest("/probe.v1.Probe/Fail", bytes, bytes, data, sent, deadline, done);
    }
  });

const seen = {};
for (const [name, call] of Object.entries(JSON.parse(calls))) seen[name] = await refused(call);
client.close();
console.log(JSON.stringify(seen));
