// Shared parts of DeBERTa (He et al. 2021, arXiv 2006.03654) and its versions 2 and 3 (arXiv
// 2111.09543): BERT's encoder whose attention has relative positions apart from contents.
#pragma once

#include "learn/models/encoder.h"

namespace hone {

// A layer's part of a score: queries, keys and values [T,C], and the rows of relative positions after
// the layers that make keys and queries of them, [2 span, C].
struct DebertaParts {
  ValueId q, k, v, position_keys = kNoValue, position_queries = kNoValue;
};

// The differences of the versions.
struct DebertaStyle {
  bool buckets = true;     // config.json's position_buckets apply
  bool table_norm = true;  // and its norm_rel_ebd
  // The parts of a layer; `at` names its attention, `rows` are those of relative positions, or
  // kNoValue.
  DebertaParts (*parts)(ModelGraph& g, const std::string& at, ValueId x, ValueId rows) = nullptr;
  bool multiple_choice = false;  // EncoderStyle::multiple_choice
};

// config.json's pos_att_type has "c2p" (keys by position) or "p2c" (queries by position).
bool has_position(const ModelConfig& c, const char* kind);

Status read_deberta_config(ModelConfig& c, const DebertaStyle& style);
ValueId deberta_body(ModelGraph& g, const DebertaStyle& style);
HeadLayer deberta_head(ModelGraph& g, ValueId x);
EncoderStyle deberta_names();

// The family with everything but its name and its model types.
template <const DebertaStyle& kStyle>
Family deberta_family(Family f) {
  f.read_config = [](ModelConfig& c) { return read_deberta_config(c, kStyle); };
  f.body = [](ModelGraph& g) { return deberta_body(g, kStyle); };
  f.head = deberta_head;
  f.dropouts = {"pooler_dropout"};
  EncoderStyle style = deberta_names();
  style.multiple_choice = kStyle.multiple_choice;
  return encoder_family(std::move(f), style);
}

}  // namespace hone
