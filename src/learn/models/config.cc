#include "learn/models/config.h"

#include "learn/models/errors.h"

namespace hone {

Result<int64_t> ModelConfig::integer(const std::string& key,
                                     std::optional<int64_t> otherwise) const {
  auto it = config.find(key);
  if (it == config.end() || it->is_null()) {
    if (otherwise) return *otherwise;
    return Error(err::kBadConfig, fmt::format("config.json has no '{}'", key));
  }
  if (!it->is_number_integer())
    return Error(err::kBadConfig, fmt::format("config.json: '{}' is {}, a whole number is expected",
                                              key, it->dump()));
  int64_t v = it->get<int64_t>();
  if (v < 0 || v > (int64_t{1} << 40))
    return Error(err::kBadConfig,
                 fmt::format("config.json: '{}' is {}, which is out of range", key, v));
  return v;
}
double ModelConfig::real(const std::string& key, double otherwise) const {
  auto it = config.find(key);
  return it != config.end() && it->is_number() ? it->get<double>() : otherwise;
}
bool ModelConfig::flag(const std::string& key, bool otherwise) const {
  auto it = config.find(key);
  return it != config.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}
std::string ModelConfig::text(const std::string& key, const std::string& otherwise) const {
  auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

Status check_range(const std::string& what, int64_t v, int64_t least, int64_t most) {
  if (v >= least && v <= most) return Ok{};
  return Error(err::kBadConfig,
               fmt::format("config.json: {} is {}, which is out of range", what, v));
}

bool classifies(Head h) {
  return h == Head::sequence_classification || h == Head::token_classification ||
         h == Head::image_classification;
}

bool reads_sequences(Head h) {
  return h == Head::sequence_classification || h == Head::multiple_choice;
}

std::string name_of(Head h) {
  switch (h) {
    case Head::causal_lm:
      return "causal_lm";
    case Head::masked_lm:
      return "masked_lm";
    case Head::sequence_classification:
      return "sequence_classification";
    case Head::token_classification:
      return "token_classification";
    case Head::question_answering:
      return "question_answering";
    case Head::multiple_choice:
      return "multiple_choice";
    case Head::seq2seq_lm:
      return "seq2seq_lm";
    case Head::image_classification:
      return "image_classification";
    case Head::none:
      return "none";
  }
  __builtin_unreachable();
}

}  // namespace hone
