// The layout of models of a type in GGUF files (llama.cpp): the keys of their metadata and the
// names of their tensors. A ModelType declares it; learn/checkpoint/gguf knows the format.
#pragma once

#include <functional>

#include "base/core/json.h"
#include "learn/models/family.h"

namespace hone {

struct GgufKey {
  std::string gguf;      // after the architecture's name and a dot
  std::string config;    // key of config.json; "": written, and not read
  bool is_real = false;  // a number with a fraction
};

struct GgufName {
  std::string gguf, weight;  // without ".weight" and ".bias"
};

struct GgufLayout {
  std::string architecture;  // general.architecture
  std::string general_name =
      "";                     // general.name of this type's files; "": the architecture is enough
  std::vector<GgufKey> keys;  // in the order in which they are written
  std::vector<const char*> needed;          // keys of config.json that every file must give
  std::string inner = "intermediate_size";  // key of config.json; without it 4 x the hidden size
  std::vector<GgufName> once, of_layer;     // tensors; those of a layer without "blk.3."
  std::string layers;                       // "model.layers.", before the number of the layer
  bool rotates = false;                     // positions are rotations, which may be scaled
  bool interleaves_heads = false;           // rows of q and k of a head are pairs in the file
  bool turns_part = false;  // rope.dimension_count is less than a head: partial_rotary_factor
  std::vector<const char*> turned = {};    // endings of weights that config's model keeps [in, out]
  std::vector<const char*> plus_one = {};  // endings of weights that are 1 larger in the file
  // What a config has that llama.cpp assumes otherwise; "": nothing. Such a model is not written.
  std::string (*unwritable)(const ModelConfig& c) = nullptr;
  // Sets the keys that follow from other keys or from the tensors that are there.
  void (*finish)(Json& config, const std::function<bool(const char* tensor)>& has) = nullptr;
};

struct GgufModelType {
  const Family* family = nullptr;
  const ModelType* type = nullptr;
};
// The type of a file's models; none: no family declares the architecture.
std::optional<GgufModelType> gguf_type(const std::string& architecture,
                                       const std::string& general_name);
// The layout of the model's type; null: GGUF files do not keep such models.
const GgufLayout* gguf_layout_of(const ModelConfig& c);
// Model types with a layout: "gpt2, llama, mistral".
std::string gguf_type_names();

}  // namespace hone
