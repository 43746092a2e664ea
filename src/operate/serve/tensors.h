// Answers requests of the Open Inference Protocol (KServe v2, Triton): converts the tensors of a request to queries for
// a model, and the model's answers to tensors.
#pragma once

#include "operate/serve/protocol/tensor_request.h"
#include "operate/serve/route.h"

namespace hone {

// The name, datatype and shape of a model's output. Every shape begins with -1: the number of texts is free.
//   models that write texts                  text_output BYTES [-1]
//   classifiers, masked language models      label BYTES [-1], score FP32 [-1]
//   embedding models                         embedding FP32 [-1,E]
//   token classifiers                        entities BYTES [-1], each a JSON list
//   models for answers from a context        answer BYTES [-1], score FP32 [-1]
// The input is text_input BYTES [-1]. For models that answer from a context each text is JSON with "question" and
// "context". The input of an image classifier is image BYTES [-1]: image files, or base64 in JSON.
struct TensorForm {
  std::string name, datatype;
  int64_t width = 1;  // values for each text
};
std::string input_name_of(const ServedModel& model);
std::vector<TensorForm> outputs_of(const ServedModel& model);
// The model's configuration in the JSON of Triton's ModelConfig.
OrderedJson triton_config(const ServedModel& model);

// The model's entry of "model_stats" in Triton's statistics. The counts of cache hits are 0: hone caches no answers.
OrderedJson triton_statistics(const ServedModel& model);

// The metrics' label `route` of these requests, over HTTP and gRPC.
inline constexpr const char* kTensorApi = "v2";

// Answers a request whose tensors were unpacked by read_tensor(). `done` is called at most once, on any thread; see
// ask_all() (route.h). Errors, passed to `done`: H3415 the inputs or outputs do not fit the model; those of the model.
void infer(const ModelSet::Model& model, const TensorRequest& request, Deadline deadline,
           WebClient& client, std::function<void(Result<TensorAnswer>)> done);

// Converts the texts or images of a tensor to queries, which share `settings`. Error H3415: there are too many texts,
// an image is neither an image file nor base64, or a text does not have the form that the model reads.
Result<std::vector<TextQuery>> queries_of(const ServedModel& model, const InferTensor& text,
                                          Json settings, Deadline deadline);
// Converts the answers to the output tensors with the names `wanted`, in the order of outputs_of(); to all outputs if
// `wanted` is empty. `shape` is the shape of the input tensor. Error H3415: the model has no output with a wanted name.
Result<std::vector<InferTensor>> tensors_of(const ServedModel& model,
                                            const std::vector<TextAnswer>& answers,
                                            const std::vector<std::string>& wanted,
                                            const std::vector<int64_t>& shape);

}  // namespace hone
