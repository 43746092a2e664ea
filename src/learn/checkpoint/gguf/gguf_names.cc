// Names of tensors in GGUF files to the names of Hugging Face checkpoints, by architecture.
#include <charconv>

#include "learn/checkpoint/gguf/gguf_weights.h"

namespace hone {
namespace {

struct NameRule {
  std::string_view ggml, hf;
};

constexpr NameRule kLlamaOnce[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr NameRule kLlamaLayer[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"}};
constexpr NameRule kGpt2Once[] = {{"token_embd", "transformer.wte"},
                                  {"position_embd", "transformer.wpe"},
                                  {"output_norm", "transformer.ln_f"},
                                  {"output", "lm_head"}};
constexpr NameRule kGpt2Layer[] = {{"attn_norm", "ln_1"},          {"attn_qkv", "attn.c_attn"},
                                   {"attn_output", "attn.c_proj"}, {"ffn_norm", "ln_2"},
                                   {"ffn_up", "mlp.c_fc"},         {"ffn_down", "mlp.c_proj"}};

std::string_view look_up(std::span<const NameRule> rules, std::string_view name) {
  for (const NameRule& r : rules)
    if (r.ggml == name) return r.hf;
  return {};
}
std::string_view look_back(std::span<const NameRule> rules, std::string_view name) {
  for (const NameRule& r : rules)
    if (r.hf == name) return r.ggml;
  return {};
}

}  // namespace

std::string hf_name_of(const std::string& architecture, const std::string& ggml_name) {
  const bool gpt2 = architecture == "gpt2";
  const size_t dot = ggml_name.rfind('.');
  if (dot == std::string::npos) return "";
  std::string_view base = std::string_view(ggml_name).substr(0, dot);
  const std::string suffix = ggml_name.substr(dot);  // ".weight", ".bias"
  if (suffix != ".weight" && suffix != ".bias") return "";
  if (!base.starts_with("blk.")) {
    const auto hf = look_up(gpt2 ? std::span<const NameRule>(kGpt2Once) : kLlamaOnce, base);
    return hf.empty() ? "" : std::string(hf) + suffix;
  }
  base.remove_prefix(4);
  int64_t layer = 0;
  const auto [end, ec] = std::from_chars(base.data(), base.data() + base.size(), layer);
  if (ec != std::errc() || end == base.data() + base.size() || *end != '.' || layer < 0) return "";
  base.remove_prefix(static_cast<size_t>(end - base.data()) + 1);
  const auto hf = look_up(gpt2 ? std::span<const NameRule>(kGpt2Layer) : kLlamaLayer, base);
  if (hf.empty()) return "";
  return fmt::format("{}.{}.{}{}", gpt2 ? "transformer.h" : "model.layers", layer, hf, suffix);
}

std::string ggml_name_of(const std::string& architecture, const std::string& hf_name) {
  const bool gpt2 = architecture == "gpt2";
  const size_t dot = hf_name.rfind('.');
  if (dot == std::string::npos) return "";
  std::string_view base = std::string_view(hf_name).substr(0, dot);
  const std::string suffix = hf_name.substr(dot);
  const std::string_view layers = gpt2 ? "transformer.h." : "model.layers.";
  if (!base.starts_with(layers)) {
    const auto ggml = look_back(gpt2 ? std::span<const NameRule>(kGpt2Once) : kLlamaOnce, base);
    return ggml.empty() ? "" : std::string(ggml) + suffix;
  }
  base.remove_prefix(layers.size());
  const size_t end = base.find('.');
  if (end == base.npos) return "";
  const auto ggml =
      look_back(gpt2 ? std::span<const NameRule>(kGpt2Layer) : kLlamaLayer, base.substr(end + 1));
  return ggml.empty() ? "" : fmt::format("blk.{}.{}{}", base.substr(0, end), ggml, suffix);
}

bool is_turned(const std::string& architecture, const std::string& hf_name) {
  return architecture == "gpt2" &&
         (hf_name.ends_with(".c_attn.weight") || hf_name.ends_with(".c_proj.weight") ||
          hf_name.ends_with(".c_fc.weight"));
}

}  // namespace hone
