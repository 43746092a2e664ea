// Requests of the Open Inference Protocol (KServe v2, Triton) as questions to a model, and its answers as tensors.
#pragma once

#include "operate/serve/protocol/tensor_request.h"
#include "operate/serve/route.h"

namespace hone {

// Inputs and outputs of a model: text_input BYTES [-1], or image BYTES [-1] of a classifier of images (files, or base64 in
// JSON); text_output BYTES [-1] of those that write, label BYTES [-1] and score FP32 [-1] of classifiers and masked language models,
// embedding FP32 [-1,E]. Models that look at tokens: entities BYTES [-1], a JSON list each; for a text_input of
// {"question", "context"} answer BYTES [-1] and score FP32 [-1].
struct TensorForm {
  std::string name, datatype;
  int64_t width = 1;  // values for each text
};
std::string input_name_of(const ServedModel& model);
std::vector<TensorForm> outputs_of(const ServedModel& model);
// Triton's config of a model, for its clients.
OrderedJson triton_config(const ServedModel& model);

// Triton's statistics of a model: an entry of "model_stats". hone has no cache of answers.
OrderedJson triton_statistics(const ServedModel& model);

inline constexpr const char* kTensorApi = "v2";  // label of metrics, whatever carries a request

// Asks the model; the request's tensors were read (read_tensor). `done` is called once, on any thread. H3415, and the
// errors of the model.
void infer(const ModelSet::Model& model, const TensorRequest& request, Deadline deadline,
           WebClient& client, std::function<void(Result<TensorAnswer>)> done);

// The texts, or images, of a tensor as queries. H3415 of too many, or an image that is not base64.
Result<std::vector<TextQuery>> queries_of(const ServedModel& model, const InferTensor& text,
                                          Json settings, Deadline deadline);
// The requested outputs; all if none is requested. `shape` is the shape of the texts. H3415: the
// model has no output of that name.
Result<std::vector<InferTensor>> tensors_of(const ServedModel& model,
                                            const std::vector<TextAnswer>& answers,
                                            const std::vector<std::string>& wanted,
                                            const std::vector<int64_t>& shape);

}  // namespace hone
