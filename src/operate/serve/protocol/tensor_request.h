// Reads requests of the Open Inference Protocol (KServe v2, Triton), and packs and unpacks their tensors.
//   https://github.com/kserve/open-inference-protocol
#pragma once

#include <map>
#include <string_view>

#include "base/core/json.h"
#include "operate/serve/protocol/tensor.h"

namespace hone {

struct TensorRequest : TensorQuestion {
  // The parameters of the request: the keys of TextQuery::settings (served_model.h).
  Json settings = Json::object();
};

// The number of values by the shape; 1 for an empty shape. -1: the shape has a negative size or more than 2^40 values.
int64_t size_of(const InferTensor& tensor);

// Unpacks `bytes` of a BYTES tensor into `texts`, and clears `bytes` of any tensor. Error H3415: the tensor has no
// name, its shape has a negative size or more than kMostTexts values, or the bytes end within a text.
Status read_tensor(InferTensor& tensor);

// The body of a request over HTTP: JSON, then the bytes of binary tensors.
struct TensorBody {
  TensorRequest request;  // without the model, which is in the path
  // Name of a requested output -> whether to send its values as bytes.
  std::map<std::string, bool> binary;
  bool all_binary = false;  // true: the outputs that are not in `binary` are sent as bytes too
};
// Parses a body, and unpacks the tensors. `json_length` is the value of the header Inference-Header-Content-Length: the
// number of bytes of JSON; "": the whole body is JSON. Error H3415: the body or the length is malformed.
Result<TensorBody> read_tensor_body(std::string_view body, std::string_view json_length);

// The input with the texts for the model: the input "text_input", else the first BYTES tensor. The pointer points into
// `inputs`. Error H3415: there is no such input, its datatype is not BYTES, or its shape does not match its number of
// texts.
Result<const InferTensor*> texts_among(const std::vector<InferTensor>& inputs);

// Unpacks the bytes of a BYTES tensor: for each text its length (u32 little-endian), then the text. Error H3415: the
// bytes end within a text.
Result<std::vector<std::string>> texts_of_bytes(std::string_view bytes);
// Packs `texts` and `floats` of a tensor in the form of InferTensor::bytes.
std::string bytes_of(const InferTensor& tensor);

}  // namespace hone
