#include "learn/models/t5_gguf.h"

#include "learn/models/t5_blocks.h"

namespace hone {
namespace {

// llama.cpp: relu or, gated, gelu; distances up to 128; what goes into the head is not scaled.
std::string encoder_alone_unwritable(const ModelConfig& c) {
  const T5FeedForward f = t5_feed_forward(c);
  if (f.act != (f.gated ? "gelu_new" : "relu"))
    return fmt::format("its feed_forward_proj is {}", c.text("feed_forward_proj", ""));
  if (t5_max_distance(c) != 128) return "its relative_attention_max_distance is not 128";
  return "";
}

std::string t5_unwritable(const ModelConfig& c) {
  if (std::string why = encoder_alone_unwritable(c); !why.empty()) return why;
  if (t5_scales_head(c)) return "what goes into its head is scaled";
  if (c.text("model_type", "t5") == "t5" && c.tied && !t5_feed_forward(c).gated)
    return "its head is tied and not scaled, in a model like the first T5";
  return "";
}

std::vector<GgufName> t5_gguf_names(const char* mlp) {
  const auto at = [&](const char* name) { return fmt::format("layer.{}.{}", mlp, name); };
  return {{"attn_norm", "layer.0.layer_norm"},
          {"attn_q", "layer.0.SelfAttention.q"},
          {"attn_k", "layer.0.SelfAttention.k"},
          {"attn_v", "layer.0.SelfAttention.v"},
          {"attn_o", "layer.0.SelfAttention.o"},
          {"ffn_norm", at("layer_norm")},
          {"ffn_up", at("DenseReluDense.wi_1"), "enc.blk.0.ffn_gate.weight"},
          {"ffn_up", at("DenseReluDense.wi")},
          {"ffn_gate", at("DenseReluDense.wi_0")},
          {"ffn_down", at("DenseReluDense.wo")}};
}

void finish_t5(Json& config, const std::function<bool(const char*)>& has) {
  const bool gated = has("enc.blk.0.ffn_gate.weight");
  config["feed_forward_proj"] = gated ? "gated-gelu" : "relu";
  if (!has("dec.output_norm.weight")) return;
  config["scale_decoder_outputs"] = !gated && !has("output.weight");  // the first T5
}

GgufLayout both_stacks() {
  using Values = std::vector<int64_t> (*)(const ModelConfig& c);
  const auto number = [](const char* gguf, const char* config, Values values) {
    return GgufKey{.gguf = gguf, .config = config, .values = values};
  };
  const auto eps = [](const char* gguf) {
    return GgufKey{.gguf = gguf,
                   .config = "layer_norm_epsilon",
                   .is_real = true,
                   .real = [](const ModelConfig& c) { return c.real("layer_norm_epsilon", 1e-6); }};
  };
  GgufLayout g{
      .architecture = "t5",
      .keys = {number("context_length", "n_positions",
                      [](const ModelConfig& c) {
                        return std::vector{c.integer("n_positions", 512).value()};
                      }),
               {"embedding_length", "d_model"},
               number("feed_forward_length", "d_ff",
                      [](const ModelConfig& c) { return std::vector{t5_inner(c)}; }),
               number("block_count", "num_layers",
                      [](const ModelConfig& c) { return std::vector{t5_layers(c, true)}; }),
               number("decoder_block_count", "num_decoder_layers",
                      [](const ModelConfig& c) { return std::vector{c.layers}; }),
               {"attention.head_count", "num_heads"},
               {"attention.key_length", "d_kv"},
               {"attention.value_length", ""},
               eps("attention.layer_norm_epsilon"),
               eps("attention.layer_norm_rms_epsilon"),
               number("attention.relative_buckets_count", "relative_attention_num_buckets",
                      [](const ModelConfig& c) { return std::vector{t5_buckets(c)}; }),
               number("decoder_start_token_id", "decoder_start_token_id",
                      [](const ModelConfig& c) { return std::vector{c.decoder_start}; }),
               {"vocab_size", "vocab_size"}},
      .needed = {"d_model", "d_ff", "num_layers", "num_heads", "d_kv"},
      .once = {{"token_embd", "shared"},
               {"enc.output_norm", "encoder.final_layer_norm"},
               {"dec.output_norm", "decoder.final_layer_norm"},
               {"enc.blk.0.attn_rel_b",
                "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
               {"dec.blk.0.attn_rel_b",
                "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
               {"output", "lm_head"}},
      .of_layer = t5_gguf_names("1"),
      .layers = "encoder.block.",
      .block = "enc.blk.",
      .stacks = {{"dec.blk.", "decoder.block.", t5_gguf_names("2")}},
      .head = Head::seq2seq_lm,
      .unwritable = t5_unwritable,
      .finish = finish_t5};
  std::vector<GgufName>& decoder = g.stacks[0].names;
  decoder.insert(decoder.end(), {{"cross_attn_norm", "layer.1.layer_norm"},
                                 {"cross_attn_q", "layer.1.EncDecAttention.q"},
                                 {"cross_attn_k", "layer.1.EncDecAttention.k"},
                                 {"cross_attn_v", "layer.1.EncDecAttention.v"},
                                 {"cross_attn_o", "layer.1.EncDecAttention.o"}});
  return g;
}

// A table of distances in each layer, in the place of those of the first.
void add_tables(GgufLayout& g) {
  const std::string table = "layer.0.SelfAttention.relative_attention_bias";
  std::erase_if(g.once, [&](const GgufName& n) { return n.weight.ends_with(table); });
  g.of_layer.push_back({"attn_rel_b", table});
  for (GgufStack& stack : g.stacks) stack.names.push_back({"attn_rel_b", table});
  g.holds = "enc.blk.1.attn_rel_b.weight";
}

void leave_decoder_out(GgufLayout& g) {
  g.architecture = "t5encoder";
  g.head = Head::none;
  g.stacks.clear();
  std::erase_if(g.keys, [](const GgufKey& key) { return key.gguf.starts_with("decoder_"); });
  std::erase_if(g.once,
                [](const GgufName& n) { return n.gguf == "output" || n.gguf.starts_with("dec."); });
  g.unwritable = encoder_alone_unwritable;
}

}  // namespace

GgufLayout t5_gguf(T5Kind kind, bool encoder_alone) {
  GgufLayout g = both_stacks();
  if (kind == T5Kind::mt5) g.general_name = "mt5";
  if (kind == T5Kind::umt5) add_tables(g);
  if (encoder_alone) leave_decoder_out(g);
  return g;
}

}  // namespace hone
