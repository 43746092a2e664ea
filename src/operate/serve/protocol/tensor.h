// Tensors of the Open Inference Protocol (KServe v2, Triton), and the requests and answers that contain them. The gRPC
// module uses these types without linking this folder's library, so all their code is in this header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct InferTensor {
  std::string name, datatype;           // datatype: "BYTES" or "FP32"; others are not read
  std::vector<int64_t> shape = {};      // the values below are in row-major order
  std::vector<std::string> texts = {};  // values of a BYTES tensor
  std::vector<float> floats = {};       // values of an FP32 tensor
  // The values in the protocol's binary form. BYTES: for each text its length (u32 little-endian), then the text. FP32:
  // little-endian floats. "": the values are only in `texts` or `floats`.
  std::string bytes = {};
};

// A request: the model, and the tensors to give to it.
struct TensorQuestion {
  // If `version` is "", the server chooses a version by the versions' shares of requests. `id` is the client's id for
  // the request, which the answer repeats; "": none.
  std::string model, version, id;
  std::vector<InferTensor> inputs;
  std::vector<std::string> wanted;  // names of the outputs to return; empty: all
  // Names of parameters of the request's inputs and outputs. hone supports no such parameters: a request that has one
  // is refused.
  std::vector<std::string> unread = {};
};

struct TensorAnswer {
  std::string model, version, id;  // model and version that answered; id of the request
  std::vector<InferTensor> outputs;
};

}  // namespace hone
