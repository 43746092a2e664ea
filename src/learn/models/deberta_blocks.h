// Shared parts of DeBERTa (He et al. 2021, arXiv 2006.03654) and its versions 2 and 3 (arXiv 2111.09543): an encoder
// like BERT's, with further terms in the attention scores for relative positions.
#pragma once

#include "learn/models/encoder.h"

namespace hone {

// The inputs of a layer's attention. q, k, v: [T,C], of the tokens. position_keys, position_queries: [2 span, C], made
// from the table of relative positions, which has `span` rows for each direction; kNoValue: the config does not use
// them.
struct DebertaParts {
  ValueId q, k, v, position_keys = kNoValue, position_queries = kNoValue;
};

// The differences between the versions.
struct DebertaStyle {
  bool buckets = true;     // position_buckets of config.json is used
  bool table_norm = true;  // norm_rel_ebd of config.json is used
  // Makes a layer's parts from the layer's input x [T,C]. `at`: the name of the layer's attention. `rows`: the table of
  // relative positions; kNoValue: there is none.
  DebertaParts (*parts)(ModelGraph& g, const std::string& at, ValueId x, ValueId rows) = nullptr;
  bool multiple_choice = false;  // EncoderStyle::multiple_choice
};

// Whether pos_att_type of config.json has `kind`: "c2p" (content to position: keys are made from positions) or "p2c"
// (position to content: queries are made from positions).
bool has_position(const ModelConfig& c, const char* kind);

Status read_deberta_config(ModelConfig& c, const DebertaStyle& style);
ValueId deberta_body(ModelGraph& g, const DebertaStyle& style);
HeadLayer deberta_head(ModelGraph& g, ValueId x);
EncoderStyle deberta_names();

// Adds to `f` everything but its name and its model types.
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
