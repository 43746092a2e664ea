// Any body of the Open Inference Protocol: an Error with text, or tensors whose bytes are read back alike. The first
// byte says whether binary tensors follow the first line.
#include "operate/serve/protocol/tensor_request.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string length;
  if (data[0] % 2 == 1)
    if (const size_t end = body.find('\n'); end != std::string_view::npos)
      length = std::to_string(end);
  const Result<TensorBody> read = read_tensor_body(body, length);
  if (!read.ok()) {
    HONE_BUG_IF(read.error().text().empty(), "an error without text");
    return 0;
  }
  for (const InferTensor& t : read->request.inputs) {
    HONE_BUG_IF(size_of(t) < 0 || !t.bytes.empty(), "a tensor that was not read");
    HONE_BUG_IF(texts_of_bytes(bytes_of(t)).value() != t.texts, "other texts");
  }
  (void)texts_among(read->request.inputs);
  return 0;
}
