// Finds the weights of a model in a checkpoint, under any of their names, and checks their shapes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/stacked_weights.h"
#include "learn/models/adapter_config.h"

namespace hone {

struct NewHead;
struct Pretrained;

// The prefix of every name in the state dict of a module that holds the model as `self.model`.
inline constexpr std::string_view kWrapper = "model.";

// Finds the tensor of the weight `spec` under its own name, an older name, or the other name of a tied weight; also
// with kWrapper in front. nullptr: the checkpoint has none of them.
const TensorInfo* find_weight(const WeightSource& weights, const ModelConfig& config,
                              const ParamSpec& spec);
// Lists the stacked weights of the model under each of their names (stacked_weights.h). A stacked weight, such as the
// matrices of all experts, is one tensor in the model; checkpoints may have one tensor for each of its members.
std::vector<StackedTensor> stacked_tensors(const ModelConfig& config);
// Finds a weight as find_weight() does, and checks its shape. H2281: it is missing. H2282: it has another shape.
Result<const TensorInfo*> require_weight(const WeightSource& weights, const ModelConfig& config,
                                         const ParamSpec& spec);
// The error H2281 if the checkpoint lacks weights of the head and nothing else is wrong, as before the first
// fine-tuning. nullopt: all weights fit, or other weights are missing, or a weight has another shape. `flag`: the flag
// whose task needs the head, for the message: "--task classification"; "": unknown.
std::optional<Error> missing_head(const WeightSource& weights, const ModelConfig& config,
                                  const std::string& flag = "");
// Checks the names and shapes of all weights; reads no values. One error names all faults: H2281 if weights are
// missing, else H2282 if weights have another shape. If `head` is not null, weights of the head that load_weights()
// would initialize are not required.
Status check_weights(const WeightSource& weights, const ModelConfig& config,
                     const NewHead* head = nullptr);
// Finds the tensor of the weight `spec` in the file of an adapter. A weight of the model that the adapter saves whole
// may also have one of the names in spec.also. nullptr: the file has none.
const TensorInfo* find_adapter_weight(const WeightSource& adapter, const ParamSpec& spec);
// H2305: the file of an adapter lacks a tensor, has one of another shape, or has one that no layer of the model takes.
Status check_adapter_weights(const WeightSource& adapter, const Pretrained& model);
// Names of the tensors that the model does not read, except the masks and tables that checkpoints usually carry.
std::vector<std::string> unused_weights(const WeightSource& weights, const ModelConfig& config);
// The names in unused_weights() that differ from the name of a used weight only in their numbers. They belong to layers
// after the last layer of the config.
std::vector<std::string> unused_layers(const WeightSource& weights, const ModelConfig& config);

// The second name under which a saved model must hold the weight `name`; "": none. Only the bias of an untied
// masked-LM head has one: Transformers 5 reads `decoder.bias` and warns if `bias` is missing, version 4 reads `bias`.
std::string second_name(const ModelConfig& config, const std::string& name);

// For each weight, by its name in a saved model: the further names that it may have in the state dict of the running
// PyTorch module, best first. PEFT's modules put "default" or "modules_to_save.default" into names of an adapter.
std::map<std::string, std::vector<std::string>> names_in_modules(const ModelConfig& config);

// Quantizes x [rows, columns], row-major, to i8. Each row (`by_rows`) or each column has a scale = largest magnitude /
// 127; x is about q * scale, with an error of at most scale / 2. Values that are not finite become 0.
void quantize_absmax(std::span<const float> x, int64_t columns, bool by_rows, int8_t* q,
                     std::span<float> scales);

}  // namespace hone
