// The layout of models of a type in GGUF files (llama.cpp): the keys of their metadata and the
// names of their tensors. A ModelType declares it; learn/checkpoint/gguf knows the format.
#pragma once

#include <functional>

#include "base/core/json.h"
#include "learn/models/family.h"
#include "learn/models/rotation.h"

namespace hone {

struct GgufKey {
  std::string gguf;      // after the architecture's name and a dot
  std::string config;    // key of config.json, a number or a flag; "": written, and not read
  bool is_real = false;  // a number with a fraction
  // Written in the place of the config's value: one number, or a list; empty: the key is not written. nullptr:
  // that value.
  std::vector<int64_t> (*values)(const ModelConfig& c) = nullptr;
  double usual = 0;                                // the real number if the config has none
  double (*real)(const ModelConfig& c) = nullptr;  // the same as `values`, of a real number
  bool of_tokenizer = false;  // after "tokenizer.ggml." in the place of the architecture's name
  bool is_text = false;       // a text, written if the config has it
  // Written as a list of flags. nullptr: the members above decide.
  std::vector<bool> (*flags)(const ModelConfig& c) = nullptr;
  bool is_list = false;  // read as it is: a list stays one, with one element for each layer
};

struct GgufName {
  std::string gguf, weight;  // without ".weight" and ".bias"
  std::string beside = {};   // only in files that have this tensor; "": in all
};
// A tensor of a layer with the whole names of both sides. Columns part, part + parts, ... of the weight's last
// axis are in this tensor; a stack of matrices is turned, [E,in,out] to the file's [E,out,in].
struct GgufPart {
  std::string gguf, weight;
  int64_t part = 0, parts = 1;
};
// A weight of layers with states whose heads of values come by their head of keys, one after the other; the file has
// the first head of each, then the second of each, ...
struct GgufTiles {
  const char* ending;
  enum class Where {
    rows,           // heads are rows, or elements of a vector
    rows_of_value,  // the rows after those of queries and keys
    columns
  } where = Where::rows;
};
// A second kind of layers: the decoder's of an encoder-decoder.
struct GgufStack {
  std::string gguf, layers;          // "dec.blk.", "decoder.block.": before the number
  std::vector<GgufName> names = {};  // as GgufLayout::of_layer
};
// A number of each layer that the file has in a list of its metadata, in the place of a tensor.
struct GgufList {
  std::string gguf, weight;  // the whole key, and the name after the layer's
  Shape shape = {};          // of the weight, which has one element
};
// A weight of layers with states whose rows are, for each head of keys, those of its query, its key, its values and
// their gates. The file has the rows of all queries, all keys and all values in one tensor, those of all gates
// in another.
struct GgufStateRows {
  std::string weight, mixed, gates;  // whole names after the layer's
};
// Rows of that weight that are together in a tensor too.
struct GgufRun {
  bool of_gates;
  int64_t tensor_row, weight_row, count;
};
// An axis of size 1 of weights with this ending, which the file leaves out.
struct GgufAxis {
  const char* ending;
  int64_t axis;
};

struct GgufLayout {
  std::string architecture;  // general.architecture
  std::string general_name =
      "";  // general.name of all files of this type; "": the architecture is enough
  std::string marker = {};  // a key that only this type's files of the architecture have; "": none
  std::string lacks = {};   // a tensor that only this type's files are without; "": none
  std::string holds = {};   // a tensor that only this type's files have; "": none
  std::string tokenizer = {};               // tokenizer.ggml.model of this type's files; "": any
  const char* sentencepiece = "llama";      // tokenizer.ggml.model of a SentencePiece BPE
  std::vector<GgufKey> keys = {};           // in the order in which they are written
  std::vector<const char*> needed = {};     // keys of config.json that every file must give
  std::string inner = "intermediate_size";  // key of config.json; without it 4 x the hidden size
  std::vector<GgufName> once = {}, of_layer = {};  // tensors; those of a layer without "blk.3."
  std::string layers = {};           // "model.layers.", before the number of the layer
  std::vector<GgufName> whole = {};  // tensors of a layer with the whole names of both sides
  std::vector<GgufPart> parts = {};  // of a layer too
  std::vector<GgufList> lists = {};
  std::string block = "blk.";          // before the number of a layer in the file
  std::vector<GgufStack> stacks = {};  // after those of `of_layer`
  bool rotates = false;                // positions are rotations, which may be scaled
  RotationStyle rotation = {};         // defaults, and the names of its keys
  bool blends_yarn =
      false;  // yarn of this type has "truncate": false, for which the file has no key
  // rope_freqs has 1 for the channels of a head that turn, and 1e30 for those that do not.
  bool turns_by_factors = false;
  bool interleaves_heads = false;  // rows of q and k of a head are pairs in the file
  bool turns_part = false;  // rope.dimension_count is less than a head: partial_rotary_factor
  std::vector<const char*> turned = {};    // endings of weights that config's model keeps [in, out]
  std::vector<const char*> plus_one = {};  // endings of weights that are 1 larger in the file
  // Endings of weights whose rows are the queries, keys and values of one group of heads after the other; the
  // file has all queries, then all keys, then all values.
  std::vector<const char*> by_group = {};
  std::vector<GgufAxis> left_out = {};
  std::vector<GgufTiles> tiles = {};
  std::vector<GgufStateRows> state_rows = {};
  std::vector<const char*> rates = {};  // endings of weights w that the file has as -exp(w)
  // The head of the models in files. none: their tokens see both sides, and what they make are embeddings.
  Head head = Head::causal_lm;
  // The tensors of a head that classifies sequences, which files may have too. Empty: llama.cpp has none
  // for the type.
  std::vector<GgufName> classifier = {};
  // A table of positions without its first rows in the file: those up to the row of pad_token_id, which no
  // token of a text reads. "": none.
  std::string after_padding = {};
  // The trait of a config that llama.cpp assumes otherwise; "": none. This kind of model is not written.
  std::string (*unwritable)(const ModelConfig& c) = nullptr;
  // Sets the keys that follow from other keys or from the tensors that are there.
  void (*finish)(Json& config, const std::function<bool(const char* tensor)>& has) = nullptr;
};

struct GgufModelType {
  const Family* family = nullptr;
  const ModelType* type = nullptr;
};
// Traits that distinguish the types of an architecture's files.
struct GgufTraits {
  std::string architecture, general_name = {};
  std::string tokenizer = {};  // tokenizer.ggml.model; "": the file has no vocabulary
  // Whether the file has a key, without the architecture's name, or a tensor. nullptr: it has all
  // tensors and no keys.
  std::function<bool(const std::string& key)> has = nullptr;
  std::function<bool(const std::string& tensor)> has_tensor = nullptr;
};
// The type of a file's models; none: no family declares the architecture.
std::optional<GgufModelType> gguf_type(const GgufTraits& file);
// The layout of the model's type; null: GGUF files do not keep such models.
const GgufLayout* gguf_layout_of(const ModelConfig& c);
// Model types with a layout: "gpt2, llama, mistral".
std::string gguf_type_names();

}  // namespace hone
