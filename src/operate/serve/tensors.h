// Requests of the Open Inference Protocol (KServe v2, Triton), for every transport.
//   https://github.com/kserve/open-inference-protocol
#pragma once

#include "operate/serve/route.h"

namespace hone {

struct InferTensor {
  std::string name, datatype;  // "BYTES", "FP32"
  std::vector<int64_t> shape;
  std::vector<std::string> texts;  // of BYTES
  std::vector<float> floats;       // of FP32
  int64_t size() const;            // of the shape; -1: invalid
};

// The tensors of a model: input text_input BYTES [-1]; output text_output BYTES [-1] of models that
// generate, label BYTES [-1] and score FP32 [-1] of classifiers and masked language models.
struct TensorForm {
  std::string name, datatype;
};
std::vector<TensorForm> outputs_of(const ServedModel& model);
// Triton's config of a model, for its clients.
OrderedJson triton_config(const ServedModel& model);

// The tensor with the input texts: text_input, else the first of BYTES. H3415: there is none, or
// its shape is wrong.
Result<const InferTensor*> texts_among(const std::vector<InferTensor>& inputs);
// Its texts as queries. H3415: too many.
Result<std::vector<TextQuery>> queries_of(const InferTensor& text, Json settings,
                                          Deadline deadline);
// The requested outputs; all if none is requested. `shape` is the shape of the texts. H3415: the
// model has no output of that name.
Result<std::vector<InferTensor>> tensors_of(const ServedModel& model,
                                            const std::vector<TextAnswer>& answers,
                                            const std::vector<std::string>& wanted,
                                            const std::vector<int64_t>& shape);

// Decodes a BYTES tensor: length u32 little-endian and text, one after another; H3415.
Result<std::vector<std::string>> texts_of_bytes(std::string_view bytes);
std::string bytes_of(const InferTensor& t);

}  // namespace hone
