// A GGUF file as a Hugging Face checkpoint: names, orientation and config of Transformers' loader,
// for the types of models that declare a layout (learn/models/gguf_layout.h).
#pragma once

#include <memory>
#include <string>

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

// llama.cpp stores the rows of q and k of one head (`head_rows` of them) as pairs (0, D/2), (1,
// D/2+1), ...; Transformers as halves. Row `r` of the file is this row of Transformers'.
inline int64_t hf_row_of(int64_t head_rows, int64_t r) {
  const int64_t head = r / head_rows, within = r % head_rows;
  return head * head_rows + within % 2 * (head_rows / 2) + within / 2;
}
inline int64_t gguf_row_of(int64_t head_rows, int64_t r) {  // back
  const int64_t head = r / head_rows, within = r % head_rows, half = head_rows / 2;
  return head * head_rows + within % half * 2 + within / half;
}
// Whether Transformers keeps that weight transposed: GPT-2's linear weights are [in, out], those of
// ggml [out, in].
bool is_turned(const GgufLayout& layout, const std::string& hf_name);
// Whether the file keeps 1 + w where Transformers keeps w.
bool is_plus_one(const GgufLayout& layout, const std::string& hf_name);

// Tensors of rotary frequencies: those of Llama 3, and longrope's factors for short and long texts.
inline constexpr const char* kRopeFreqs = "rope_freqs.weight";
inline constexpr const char* kShortFactors = "rope_factors_short.weight";
inline constexpr const char* kLongFactors = "rope_factors_long.weight";
bool is_of_rotation(const std::string& ggml_name);

}  // namespace hone
