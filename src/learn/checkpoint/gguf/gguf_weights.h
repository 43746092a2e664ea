// Presents a GGUF file as a Hugging Face checkpoint: with the tensor names, the orientation of matrices and the config
// that Transformers produces when it loads a GGUF file. Works for the model types that declare a layout
// (learn/models/gguf_layout.h). Also converts names and orders of rows between GGUF and Transformers.
//
// In this file "the file" is the GGUF file, "a weight" is a tensor of Transformers. `layout` is the layout of the
// model's type, `hf_name` the name of a weight, `ggml_name` the name of a tensor in the file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/core/json.h"
#include "learn/checkpoint/gguf/gguf_parts.h"
#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/gguf_layout.h"

namespace hone {

// The weights in a GGUF file. A quantized tensor can be read as any float type, bit-equal to ggml's dequantization. A
// matrix can also be read as its blocks (TensorInfo::blocks), with its rows in Transformers' order. H2208: the file is
// damaged. H2209: hone does not support the architecture, an element format or a tensor. H2201: the file holds only a
// vocabulary. Reading a tensor as integers is H2206.
Result<std::unique_ptr<WeightSource>> open_gguf_weights(const std::string& path);
Result<std::unique_ptr<WeightSource>> open_gguf_weights(std::unique_ptr<ByteFile> file);
Result<std::unique_ptr<WeightSource>> open_gguf_weights(OpenGguf gguf);

// The config.json of the model in a file: the keys and values that Transformers derives from the metadata, and some
// that hone derives from the tensors: architectures, rope_scaling, attention_bias, n_positions. H2208: the file is
// damaged. H2209: the model is not supported.
Result<Json> gguf_config(const std::string& path);
Result<Json> gguf_config(const GgufFile& gguf, const ByteFile& file);

// The model type of the file. `path` is for messages. H2208: general.architecture is missing. H2209: no type with a
// layout has the file's architecture and traits.
Result<GgufModelType> type_in(const GgufFile& gguf, const std::string& path);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; "" if the layout has no such tensor.
std::string hf_name_of(const GgufLayout& layout, const std::string& ggml_name);
// The reverse; "" if the layout has no such weight.
std::string ggml_name_of(const GgufLayout& layout, const std::string& hf_name);

// The entry of GgufLayout::parts for a tensor of the file; nullptr: it has none.
const GgufPart* part_of_file(const GgufLayout& layout, const std::string& ggml_name);
// The entries of GgufLayout::parts for a weight, in the order of their parts; empty: it has none.
std::vector<const GgufPart*> parts_of_weight(const GgufLayout& layout, const std::string& hf_name);
// The name of the weight to which the tensor "blk.3.ffn_up_exps.weight" belongs: "model.layers.3.mlp.experts.up".
// `part`: the tensor's part_of_file().
std::string hf_part_name(const GgufLayout& layout, const GgufPart& part,
                         const std::string& ggml_name);
// The name of the tensor that holds `part` of a weight: the reverse. `part`: one of parts_of_weight().
std::string ggml_part_name(const GgufLayout& layout, const GgufPart& part,
                           const std::string& hf_name);

// Divides the rows of a weight in GgufLayout::state_rows into the runs that its two tensors in the file hold. `of`: the
// heads of the model. Empty: the model has no such weights.
struct GgufHeads;
std::vector<GgufRun> runs_of_state(const GgufHeads& of);
// The number of rows in these runs. of_gates: true: counts only the rows in the tensor of gates; false: only the rows
// in the other tensor; none: counts all rows.
int64_t rows_of_runs(const std::vector<GgufRun>& runs, std::optional<bool> of_gates = {});
// The entry of GgufLayout::state_rows for `name`, and the number of its layer; nullptr: there is none. `of_file`:
// true: `name` is the name of a tensor of the file; false: of a weight.
std::pair<const GgufStateRows*, int64_t> state_rows_in(const GgufLayout& layout,
                                                       const std::string& name, bool of_file);

// The entry of GgufLayout::lists for the weight, and the number of its layer; nullptr: there is none.
std::pair<const GgufList*, int64_t> list_of_weight(const GgufLayout& layout,
                                                   const std::string& hf_name);

// Numbers of heads. queries: attention heads. keys: key/value heads. The other members are for layers with a recurrent
// state (linear attention). state_values: heads of the values. state_keys: heads of the keys. state_rows: the rows of
// all queries and keys of a layer together.
struct GgufHeads {
  int64_t queries = 0, keys = 0;
  int64_t state_values = 0, state_keys = 0, state_rows = 0;
};
// The heads of a model. `value` gives the value of a key of config.json, 0 if it is absent.
GgufHeads heads_of(const GgufLayout& layout,
                   const std::function<int64_t(const std::string& key)>& value);
// The order of a weight's rows in the file, compared with Transformers' order.
//   same     the orders are the same
//   pairs    query and key weights: within a head of D rows, the file has the pairs (0, D/2), (1, D/2+1), ... of
//            Transformers' rows
//   groups   fused query/key/value weights: the file has all queries, then all keys, then all values. Transformers
//            has, for one key/value head after the other, its queries, its key and its value
//   tiles    value heads that are in groups, one group for each key head: the file has the first head of each group,
//            then the second of each, ... Transformers has all heads of a group, group after group. Rows before
//            `fixed` have the same place in both.
struct GgufRowOrder {
  enum class Kind { same, pairs, groups, tiles } kind = Kind::same;
  int64_t rows = 0;  // of the weight
  // pairs: both are the number of the weight's heads. groups: queries is the number of query heads, keys that of
  // key/value heads. tiles: queries is the number of value heads, keys that of groups.
  int64_t queries = 0, keys = 0;
  int64_t fixed = 0;  // tiles: the number of rows at the beginning that keep their place

  bool same() const { return kind == Kind::same; }
  // Whether the heads divide the rows evenly.
  bool fits() const;
  int64_t hf_row(int64_t r) const;    // Transformers' index of the file's row r
  int64_t gguf_row(int64_t r) const;  // the file's index of Transformers' row r
};
// The order of a weight's rows. `rows`: their number.
GgufRowOrder row_order(const GgufLayout& layout, const std::string& hf_name, int64_t rows,
                       const GgufHeads& of);
// As row_order(), for the columns of a weight instead of its rows.
GgufRowOrder column_order(const GgufLayout& layout, const std::string& hf_name, int64_t columns,
                          const GgufHeads& of);
// Whether the file has -exp(w) for each element w of the weight.
bool is_rate(const GgufLayout& layout, const std::string& hf_name);
// Whether Transformers keeps the weight as [in, out], the transpose of the file's [out, in]: linear weights of GPT-2.
bool is_turned(const GgufLayout& layout, const std::string& hf_name);
// Whether the file has 1 + w for each element w of the weight.
bool is_plus_one(const GgufLayout& layout, const std::string& hf_name);

// The index of the weight's axis of size 1 that the file's tensor does not have; -1: none.
int64_t left_out_axis(const GgufLayout& layout, const std::string& hf_name);

// Names of tensors with divisors of the rotary frequencies. kRopeFreqs: for Llama 3. kShortFactors, kLongFactors: for
// longrope with short texts and with long texts.
inline constexpr const char* kRopeFreqs = "rope_freqs.weight";
inline constexpr const char* kShortFactors = "rope_factors_short.weight";
inline constexpr const char* kLongFactors = "rope_factors_long.weight";
bool is_of_rotation(const std::string& ggml_name);  // whether the name is one of these three
// The divisor in rope_freqs of channels that are not rotated (GgufLayout::turns_by_factors).
inline constexpr float kNeverTurns = 1e30f;

// For a head that classifies sequences. kClassifierOutput: the tensor of its last matrix. kOutputLabels: the key of
// its labels, after the architecture's name and a dot. kClassifierKeys: hone's own key, because llama.cpp has no keys
// for these values. Its value is a JSON object with the keys of kKeysOfClassifiers that the model's config.json has.
inline constexpr const char *kClassifierOutput = "cls.output.weight",
                            *kOutputLabels = "classifier.output_labels",
                            *kClassifierKeys = "hone.classifier";
inline constexpr const char* kKeysOfClassifiers[] = {"problem_type", "sentence_transformers"};

}  // namespace hone
