// A GGUF file as a Hugging Face checkpoint: names, orientation and config of Transformers' loader,
// for the types of models that declare a layout (learn/models/gguf_layout.h).
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

// The tensors of a GGUF file. A quantised tensor can be read in any type of floats, bit-equal to
// ggml's dequantisation; a matrix also as its blocks, with rows in the order of Transformers.
// Errors: H2208; H2209 an architecture, element format or tensor that hone cannot use; H2201 the
// file holds only a vocabulary. Reading a tensor as integers is H2206.
Result<std::unique_ptr<WeightSource>> open_gguf_weights(const std::string& path);
Result<std::unique_ptr<WeightSource>> open_gguf_weights(std::unique_ptr<ByteFile> file);
Result<std::unique_ptr<WeightSource>> open_gguf_weights(OpenGguf gguf);

// config.json for the file: every key that Transformers derives, with its value, and further keys
// from the weights: architectures, rope_scaling, attention_bias, n_positions.
Result<Json> gguf_config(const std::string& path);
Result<Json> gguf_config(const GgufFile& gguf, const ByteFile& file);

// The type of the models that the file holds. Errors: H2208, H2209 a type without a layout.
Result<GgufModelType> type_in(const GgufFile& gguf, const std::string& path);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; "" when it has no place in
// `layout`.
std::string hf_name_of(const GgufLayout& layout, const std::string& ggml_name);
std::string ggml_name_of(const GgufLayout& layout, const std::string& hf_name);  // back

// The place of a weight that the file keeps whole or in parts (GgufLayout::parts). nullptr: none.
const GgufPart* part_of_file(const GgufLayout& layout, const std::string& ggml_name);
// The tensors of the file that hold the weight, in the order of their parts; empty: it has none of this kind.
std::vector<const GgufPart*> parts_of_weight(const GgufLayout& layout, const std::string& hf_name);
// "model.layers.3.mlp.experts.up" of the part, for the tensor "blk.3.ffn_up_exps.weight".
std::string hf_part_name(const GgufLayout& layout, const GgufPart& part,
                         const std::string& ggml_name);
// "blk.3.ffn_up_exps.weight" of the part `gguf`, for the weight "model.layers.3.mlp.experts.up".
std::string ggml_part_name(const GgufLayout& layout, const GgufPart& part,
                           const std::string& hf_name);

// The runs of GgufStateRows' weight; empty: the model has no such heads.
struct GgufHeads;
std::vector<GgufRun> runs_of_state(const GgufHeads& of);
// The rows that the weight has of one tensor of the file, or of both.
int64_t rows_of_runs(const std::vector<GgufRun>& runs, std::optional<bool> of_gates = {});
// The weight of a tensor, or the weight's own entry, with its layer; nullptr: none.
std::pair<const GgufStateRows*, int64_t> state_rows_in(const GgufLayout& layout,
                                                       const std::string& name, bool of_file);

// The list of the file's metadata that holds the weight, and the weight's layer; nullptr: none.
std::pair<const GgufList*, int64_t> list_of_weight(const GgufLayout& layout,
                                                   const std::string& hf_name);

// The heads of a model: those of queries, and those of keys and values; of layers with a state those of values and of
// keys, and the rows of their queries and keys.
struct GgufHeads {
  int64_t queries = 0, keys = 0;
  int64_t state_values = 0, state_keys = 0, state_rows = 0;
};
// The heads by the keys of config.json that the layout names; value(key): 0 if there is none.
GgufHeads heads_of(const GgufLayout& layout,
                   const std::function<int64_t(const std::string& key)>& value);
// The order of a weight's rows in the file and in Transformers.
//   pairs    llama.cpp has the rows of q and k of one head as pairs (0, D/2), (1, D/2+1), ...; Transformers as
//            halves
//   groups   llama.cpp has the rows of all q, all k, all v; Transformers those of a group's queries, key and
//            value, group after group
//   tiles    llama.cpp has head j of each of the `keys` groups, then head j + 1 of each; Transformers all heads of a
//            group, group after group. Rows before `fixed` stay.
struct GgufRowOrder {
  enum class Kind { same, pairs, groups, tiles } kind = Kind::same;
  int64_t rows = 0;               // of the weight
  int64_t queries = 0, keys = 0;  // pairs: `queries` are the heads of the weight; tiles: all heads
  int64_t fixed = 0;

  bool same() const { return kind == Kind::same; }
  // The heads share the rows evenly.
  bool fits() const;
  int64_t hf_row(int64_t r) const;    // Transformers' number of the file's row r
  int64_t gguf_row(int64_t r) const;  // back
};
GgufRowOrder row_order(const GgufLayout& layout, const std::string& hf_name, int64_t rows,
                       const GgufHeads& of);
// The order of its columns.
GgufRowOrder column_order(const GgufLayout& layout, const std::string& hf_name, int64_t columns,
                          const GgufHeads& of);
// Whether the file has -exp(w) in the place of w.
bool is_rate(const GgufLayout& layout, const std::string& hf_name);
// Whether Transformers keeps that weight transposed: GPT-2's linear weights are [in, out], those of
// ggml [out, in].
bool is_turned(const GgufLayout& layout, const std::string& hf_name);
// Whether the file keeps 1 + w where Transformers keeps w.
bool is_plus_one(const GgufLayout& layout, const std::string& hf_name);

// The axis of size 1 that the file leaves out of the weight; -1: none.
int64_t left_out_axis(const GgufLayout& layout, const std::string& hf_name);

// Tensors of rotary frequencies: those of Llama 3, and longrope's factors for short and long texts.
inline constexpr const char* kRopeFreqs = "rope_freqs.weight";
inline constexpr const char* kShortFactors = "rope_factors_short.weight";
inline constexpr const char* kLongFactors = "rope_factors_long.weight";
bool is_of_rotation(const std::string& ggml_name);
inline constexpr float kNeverTurns = 1e30f;  // GgufLayout::turns_by_factors

// The head that classifies: its last matrix, the key of its labels after the architecture's name, and hone's key, a
// JSON object with the keys of config.json for which llama.cpp has none.
inline constexpr const char *kClassifierOutput = "cls.output.weight",
                            *kOutputLabels = "classifier.output_labels",
                            *kClassifierKeys = "hone.classifier";
inline constexpr const char* kKeysOfClassifiers[] = {"problem_type", "sentence_transformers"};

}  // namespace hone
