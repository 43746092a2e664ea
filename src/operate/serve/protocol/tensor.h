// Tensors of the Open Inference Protocol. The gRPC module is not linked with this room, so these
// types have no code outside of this header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct InferTensor {
  std::string name, datatype;  // "BYTES", "FP32"
  std::vector<int64_t> shape = {};
  std::vector<std::string> texts = {};  // of BYTES
  std::vector<float> floats = {};       // of FP32
  std::string bytes = {};               // the values packed, as they are sent; "": not packed
};

struct TensorQuestion {
  std::string model, version, id;  // version "": drawn by the versions' shares of requests
  std::vector<InferTensor> inputs;
  std::vector<std::string> wanted;  // names of outputs; none: all
  std::vector<std::string> unread =
      {};  // parameters of inputs and outputs, none of which hone has here
};

struct TensorAnswer {
  std::string model, version, id;
  std::vector<InferTensor> outputs;
};

}  // namespace hone
