// T5 (Raffel et al., arXiv 1910.10683): relative positions in buckets, RMS norms before the
// sublayers, no biases, scores without a scale. Linear weights are [out, in].
//   t5   relu MLP and tied head, or (1.1, flan) gated GELU and a head of its own (arXiv 2002.05202)
//   mt5  as 1.1 with more languages (arXiv 2010.11934)
//   umt5 as mt5, with a table of relative positions in each layer (arXiv 2304.09151)
#include "learn/models/bart_blocks.h"
#include "learn/models/t5_blocks.h"
#include "learn/models/t5_gguf.h"

namespace hone {
namespace {

HeadLayer t5_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  if (t5_is_classifier(c))
    return dense_classifier(
        g, hidden, c.real("classifier_dropout", 0),
        c.real("initializer_factor", 1) / std::sqrt(static_cast<double>(c.hidden)));
  if (t5_scales_head(c))
    hidden = ops::mul(
        g.b, hidden,
        ops::constant(g.b, 1 / std::sqrt(static_cast<double>(c.hidden)), {DType::f32, {}}));
  if (c.tied) return {hidden, t5_words(g)};
  return {hidden, g.matrix(kT5Head, c.vocab, c.hidden, c.real("initializer_factor", 1))};
}

// Layouts of the files of each type.
const GgufLayout* gguf_of_t5_kind(T5Kind kind) {
  static const GgufLayout layouts[] = {t5_gguf(T5Kind::t5, false), t5_gguf(T5Kind::mt5, false),
                                       t5_gguf(T5Kind::umt5, false)};
  return &layouts[static_cast<int>(kind)];
}

}  // namespace

Family family_t5() {
  return {.name = "t5",
          .model_types = {{"t5", "T5", "", {"q", "v"}, gguf_of_t5_kind(T5Kind::t5)},
                          {"mt5", "MT5", "", {"q", "v"}, gguf_of_t5_kind(T5Kind::mt5)},
                          {"umt5", "UMT5", "", {}, gguf_of_t5_kind(T5Kind::umt5)}},
          .heads = {{Head::seq2seq_lm, "ForConditionalGeneration"},
                    {Head::sequence_classification, "ForSequenceClassification"}},
          .read_config = [](ModelConfig& c) { return read_t5_config(c, false); },
          .body = t5_decoder,
          .head = t5_head,
          .encoder = t5_encoder,
          .cross_keys = t5_cross_keys,
          .dropouts = {"dropout_rate", "classifier_dropout"},
          .body_prefix = kT5Body,
          .unread = {".EncDecAttention.relative_attention_bias.weight"},
          .separate_head = kT5Head,
          .head_of_file = true,
          .module_order = std::vector<std::string>(),
          // The residual stream of what Google trained leaves the range of f16
          // (github.com/huggingface/transformers, issue 4586); products in bf16 are safe.
          .safe_in_f16 = false};
}

}  // namespace hone
