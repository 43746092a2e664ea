// A family's weights in a checkpoint, under any of their names.
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

// In front of every name in the state dict of a module that holds the model as `self.model`.
inline constexpr std::string_view kWrapper = "model.";

// Looks for the family's name, an older one, or the other name of a tie; nullptr: none exists.
const TensorInfo* find_weight(const WeightSource& weights, const ModelConfig& config,
                              const ParamSpec& spec);
// The model's weights that checkpoints keep one by one, under each of their names.
std::vector<StackedTensor> stacked_tensors(const ModelConfig& config);
// Finds a weight and checks its shape. H2281: it is missing. H2282: it has another shape.
Result<const TensorInfo*> require_weight(const WeightSource& weights, const ModelConfig& config,
                                         const ParamSpec& spec);
// The error of a checkpoint that lacks only weights of the head, as before the first fine-tuning; none: its weights fit,
// or others are missing. `flag`: "--task classification", that the head is for; "": not known. H2281.
std::optional<Error> missing_head(const WeightSource& weights, const ModelConfig& config,
                                  const std::string& flag = "");
// All weights that are missing or have another shape, in one error; reads no value. `head`: its new
// weights are not required.
Status check_weights(const WeightSource& weights, const ModelConfig& config,
                     const NewHead* head = nullptr);
// A weight in the file of an adapter, by its name. A weight that is kept (Adapter::kept) may also
// have another of the model's names. nullptr: none exists.
const TensorInfo* find_adapter_weight(const WeightSource& adapter, const ParamSpec& spec);
// Checks that the file of an adapter holds exactly the tensors of the model's config. H2305.
Status check_adapter_weights(const WeightSource& adapter, const Pretrained& model);
// Names of tensors that the model does not read, without the masks and tables that checkpoints
// usually carry.
std::vector<std::string> unused_weights(const WeightSource& weights, const ModelConfig& config);
// Weights of layers beyond those in the config.
std::vector<std::string> unused_layers(const WeightSource& weights, const ModelConfig& config);

// The second name under which a saved model holds that weight; "": none. An untied MLM head stores
// its bias twice: Transformers 5 reads `decoder.bias` and warns if the other is missing, version 4
// reads `bias`.
std::string second_name(const ModelConfig& config, const std::string& name);

// Names of the trained weights in a state dict of the running model, best first, by the name in a saved
// model; with PEFT's parts of an adapter's names.
std::map<std::string, std::vector<std::string>> names_in_modules(const ModelConfig& config);

// i8 values and a scale for each row, or each column, of x [.., columns], row-major: x is
// q * scale, off by at most scale / 2, where scale = largest magnitude / 127.
void quantize_absmax(std::span<const float> x, int64_t columns, bool by_rows, int8_t* q,
                     std::span<float> scales);

}  // namespace hone
