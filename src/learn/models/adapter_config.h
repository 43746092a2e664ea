// Reads and writes PEFT's adapter_config.json, and checks whether an adapter fits its model.
#pragma once

#include "base/core/json.h"
#include "learn/models/family.h"

namespace hone {

inline constexpr const char* kAdapterStem = "adapter_model";  // adapter_model.safetensors
inline constexpr const char* kAdapterConfigFile = "adapter_config.json";

// The names of the linear layers that c.adapter adapts.
std::vector<std::string> adapted_layers(const ModelConfig& c);
// The names of the stacked matrices of experts that c.adapter adapts (Adapter::parameters).
std::vector<std::string> adapted_parameters(const ModelConfig& c);

// Reads the contents of an adapter_config.json. H2305: it is not a LoRA adapter, or has a setting that hone does not
// support.
Result<Adapter> read_adapter_config(const OrderedJson& file);
// The contents of adapter_config.json for c.adapter. `base`: the name of the base model (base_model_name_or_path).
Json adapter_config(const ModelConfig& c, const std::string& base);
// H2305: c.adapter adapts no layer of the model, a module that it names cannot be trained in full, or one of its
// patterns is not a valid regular expression.
Status check_adapter(const ModelConfig& c);

}  // namespace hone
