// A request of the Open Inference Protocol (KServe v2, Triton), from JSON or from another carrier.
//   https://github.com/kserve/open-inference-protocol
#pragma once

#include <map>
#include <string_view>

#include "base/core/json.h"
#include "operate/serve/protocol/tensor.h"

namespace hone {

struct TensorRequest : TensorQuestion {
  Json settings = Json::object();  // keys of generation_config.json, or top_k
};

// Number of values by the shape; -1: the shape has a negative size or more values than 2^40.
int64_t size_of(const InferTensor& tensor);

// Unpacks `bytes` of BYTES. H3415: no name, a bad shape or more than kMostTexts values, bytes that end within a text.
Status read_tensor(InferTensor& tensor);

// A request over HTTP: JSON, then the bytes of binary tensors.
struct TensorBody {
  TensorRequest request;               // its model is in the path
  std::map<std::string, bool> binary;  // by output
  bool all_binary = false;
};
// `json_length`: the header Inference-Header-Content-Length; "": all of the body is JSON. H3415.
Result<TensorBody> read_tensor_body(std::string_view body, std::string_view json_length);

// The tensor whose texts are asked: text_input, else the first of BYTES. H3415: there is none, or its shape is wrong.
Result<const InferTensor*> texts_among(const std::vector<InferTensor>& inputs);

// The bytes of a BYTES tensor: length u32 little-endian and text, one after another; H3415.
Result<std::vector<std::string>> texts_of_bytes(std::string_view bytes);
// The packed values of a tensor.
std::string bytes_of(const InferTensor& tensor);

}  // namespace hone
