// Tensors of the Open Inference Protocol. The types have no code outside of this header, so that the gRPC module, which
// is linked alone, makes them too.
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
  std::string model, version, id;  // version "": by the shares of requests
  std::vector<InferTensor> inputs;
  std::vector<std::string> wanted;  // names of outputs; none: all
};

struct TensorAnswer {
  std::string model, version, id;
  std::vector<InferTensor> outputs;
};

}  // namespace hone
