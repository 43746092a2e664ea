// The layout of GGUF files (llama.cpp) for a model type: the keys of the metadata, the names of the tensors, and the
// differences between their elements and Transformers' weights. A ModelType has a pointer to its layout;
// learn/checkpoint/gguf uses the layout to read and write files. "The file" is the GGUF file here, "a weight" a tensor
// of Transformers.
#pragma once

#include <functional>

#include "base/core/json.h"
#include "learn/models/family.h"
#include "learn/models/rotation.h"

namespace hone {

// A key of the metadata, and the key of config.json that has the same value.
struct GgufKey {
  std::string gguf;      // the key, without the architecture's name and the dot before it
  std::string config;    // key of config.json; "": the metadata key is written, but not read
  bool is_real = false;  // the value is a real number; false: an integer or a flag
  // Computes the values to write: one number, or a list; an empty result: the key is not written. nullptr: the value of
  // config.json is written.
  std::vector<int64_t> (*values)(const ModelConfig& c) = nullptr;
  double usual = 0;  // the real number to write if config.json has none
  // Computes the real number to write. nullptr: the value of config.json is written.
  double (*real)(const ModelConfig& c) = nullptr;
  bool of_tokenizer = false;  // the key begins with "tokenizer.ggml.", not with the architecture
  bool is_text = false;       // the value is a text, which is written only if config.json has it
  // Computes a list of flags to write. nullptr: the other members give the value.
  std::vector<bool> (*flags)(const ModelConfig& c) = nullptr;
  bool is_list = false;  // a list with one element for each layer stays a list in config.json
};

// The name of a tensor in the file, and the name of the weight.
struct GgufName {
  std::string gguf, weight;  // without ".weight" and ".bias"
  std::string beside = {};   // the pair applies only to files with this tensor; "": to all files
};
// A tensor of a layer that holds one part of a weight. The columns part, part + parts, part + 2 parts, ... of the
// weight's last axis are in this tensor. A stack of matrices [E,in,out] is [E,out,in] in the file. Names have their
// ending, such as ".weight", but not the layer.
struct GgufPart {
  std::string gguf, weight;
  int64_t part = 0, parts = 1;
};
// Weights of linear attention whose names end in `ending`. Transformers has the value heads in groups, one group for
// each key head. The file has the first head of each group, then the second of each, ...
struct GgufTiles {
  const char* ending;
  enum class Where {
    rows,           // a head is some rows of a matrix, or elements of a vector
    rows_of_value,  // a head is some rows; the rows of queries and keys come before all heads
    columns         // a head is some columns
  } where = Where::rows;
};
// A further stack of layers: the decoder of an encoder-decoder.
struct GgufStack {
  // Parts of names before the layer's number: "dec.blk.", "decoder.block."
  std::string gguf, layers;
  std::vector<GgufName> names = {};  // as GgufLayout::of_layer
};
// A weight with one element in each layer, which the file has as a list in its metadata, with one number for each
// layer.
struct GgufList {
  std::string gguf, weight;  // complete metadata key; name of the weight without the layer
  Shape shape = {};          // of the weight
};
// A weight of linear attention that the file divides into two tensors. In the weight, each key head has the rows of
// its query, its key, its values and their gates. In the file, `mixed` has the rows of all queries, then all keys,
// then all values; `gates` has the rows of all gates. Names are complete, but without the layer.
struct GgufStateRows {
  std::string weight, mixed, gates;
};
// Successive rows of the weight of a GgufStateRows that are also successive rows of one of its two tensors.
struct GgufRun {
  bool of_gates;  // the tensor is `gates`; false: `mixed`
  // tensor_row: the first row in the tensor. weight_row: the first row in the weight. count: the number of rows.
  int64_t tensor_row, weight_row, count;
};
// Weights whose names end in `ending` have an axis of size 1 that the file's tensor does not have.
struct GgufAxis {
  const char* ending;
  int64_t axis;
};

struct GgufLayout {
  std::string architecture;  // general.architecture
  // Several types may have the same architecture. The next five members describe how the files of this type are
  // recognized; "": not by this member. general_name: the general.name of all its files.
  std::string general_name = "";
  std::string marker = {};               // a key that only this type's files have
  std::string lacks = {};                // a tensor that only this type's files do not have
  std::string holds = {};                // a tensor that only this type's files have
  std::string tokenizer = {};            // tokenizer.ggml.model of this type's files
  const char* sentencepiece = "llama";   // tokenizer.ggml.model for a SentencePiece BPE
  std::vector<GgufKey> keys = {};        // in the order in which they are written
  std::vector<const char*> needed = {};  // keys of config.json that every file must provide
  // The config.json key of the MLP's inner size. If config.json has no such key, the size is 4 x the hidden size.
  std::string inner = "intermediate_size";
  // once: tensors outside the layers. of_layer: tensors of each layer, without "blk.3." and the weight's layer.
  std::vector<GgufName> once = {}, of_layer = {};
  std::string layers = {};  // in names of weights, before the layer's number: "model.layers."
  // Tensors of each layer for which `of_layer` does not work, because the two names do not have the same ending
  // ".weight" or ".bias". Names are complete, but without the layer.
  std::vector<GgufName> whole = {};
  std::vector<GgufPart> parts = {};
  std::vector<GgufList> lists = {};
  std::string block = "blk.";          // the part of a tensor's name before the layer's number
  std::vector<GgufStack> stacks = {};  // layers other than those of `of_layer`
  bool rotates = false;                // positions are rotary (RoPE), perhaps scaled
  RotationStyle rotation = {};         // default values, and the config.json keys of RoPE
  // true: YaRN of this type has "truncate": false in config.json; the file has no key for this.
  bool blends_yarn = false;
  // true: the tensor rope_freqs has 1 for channels of a head that are rotated, and 1e30 for channels that are not.
  bool turns_by_factors = false;
  // true: in q and k of the file, the rows of two channels that are rotated together are neighbors
  // (GgufRowOrder::Kind::pairs).
  bool interleaves_heads = false;
  // true: rope.dimension_count may be less than the head size. partial_rotary_factor is then rope.dimension_count /
  // head size.
  bool turns_part = false;
  std::vector<const char*> turned = {};  // endings of weights that Transformers keeps as [in, out]
  std::vector<const char*> plus_one = {};  // endings of weights w that the file has as 1 + w
  // Endings of fused weights. Transformers has, for one key/value head after the other, the rows of its queries, its
  // key and its value; the file has all queries, then all keys, then all values.
  std::vector<const char*> by_group = {};
  std::vector<GgufAxis> left_out = {};
  std::vector<GgufTiles> tiles = {};
  std::vector<GgufStateRows> state_rows = {};
  std::vector<const char*> rates = {};  // endings of weights w that the file has as -exp(w)
  // The head of models in such files. Head::none: encoders that make embeddings (attention is not causal).
  Head head = Head::causal_lm;
  // The tensors of a head that classifies sequences, which a file may also have. Empty: llama.cpp has no such head for
  // the type.
  std::vector<GgufName> classifier = {};
  // The weight of a position table whose first rows, up to row pad_token_id, are not in the file: no token uses them.
  // "": there is none.
  std::string after_padding = {};
  // Returns what llama.cpp does not support in a config: such a model is not written. "": the config is supported.
  // nullptr: every config is.
  std::string (*unwritable)(const ModelConfig& c) = nullptr;
  // Completes a config.json that was read from a file: sets keys that follow from other keys or from the file's
  // tensors (has). nullptr: nothing to do.
  void (*finish)(Json& config, const std::function<bool(const char* tensor)>& has) = nullptr;
};

struct GgufModelType {
  const Family* family = nullptr;
  const ModelType* type = nullptr;
};
// The properties of a file by which its model type is recognized.
struct GgufTraits {
  std::string architecture, general_name = {};
  std::string tokenizer = {};  // tokenizer.ggml.model; "": the file has no vocabulary
  // Whether the file has a key (without the architecture's name). nullptr: the file has no keys.
  std::function<bool(const std::string& key)> has = nullptr;
  // Whether the file has a tensor. nullptr: every tensor counts as present.
  std::function<bool(const std::string& tensor)> has_tensor = nullptr;
};
// The model type of a file; none: no type with a layout has its architecture and traits.
std::optional<GgufModelType> gguf_type(const GgufTraits& file);
// The layout for the type of the model; null: GGUF files are not supported for it.
const GgufLayout* gguf_layout_of(const ModelConfig& c);
// The model types that have a layout: "gpt2, llama, mistral".
std::string gguf_type_names();

}  // namespace hone
