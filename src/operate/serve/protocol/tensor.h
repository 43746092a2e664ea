// Tensors of the Open Inference Protocol (KServe v2, Triton), and the requests and answers that carry them. The gRPC
// module uses these types without linking this folder's library, so they have no code outside of this header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct InferTensor {
  std::string name, datatype;           // datatype: "BYTES" or "FP32"; other types are kept as text
  std::vector<int64_t> shape = {};      // the values below are in row-major order
  std::vector<std::string> texts = {};  // values of a BYTES tensor
  std::vector<float> floats = {};       // values of an FP32 tensor
  // The values as the protocol sends them. BYTES: each text after its length, u32 little-endian; FP32: little-endian
  // floats. "": the values are in `texts` or `floats` alone.
  std::string bytes = {};
};

// A request: the model, and the tensors to give to it.
struct TensorQuestion {
  // version: "": the server chooses a version by the versions' shares of requests. id: the client's name for the
  // request, repeated in the answer; "": none.
  std::string model, version, id;
  std::vector<InferTensor> inputs;
  std::vector<std::string> wanted;  // names of the outputs to return; empty: all
  // Names of the parameters that the request's inputs and outputs have. hone supports none there: a request with one
  // is refused.
  std::vector<std::string> unread = {};
};

struct TensorAnswer {
  std::string model, version, id;  // the version that answered; `id` is the id of the request
  std::vector<InferTensor> outputs;
};

}  // namespace hone
