#include "learn/tasks/embedding_settings.h"

#include <algorithm>
#include <charconv>

#include "base/core/text.h"
#include "base/settings/errors.h"

namespace hone {
namespace {

Result<double> number_of(const std::string& text, const char* flag) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (!text.empty() && read.ec == std::errc() && read.ptr == end && value > 0) return value;
  return Error(err::kSettingType, fmt::format("'{}' is not a positive number", text))
      .at(fmt::format("--{}", flag));
}

}  // namespace

std::vector<std::string> embedding_losses() {
  std::vector<std::string> names = text_loss_names();
  names.insert(names.begin(), "");
  return names;
}

Result<SentenceModules> EmbeddingSettings::modules_of(const std::string& folder) const {
  SentenceModules modules = HONE_TRY(read_sentence_modules(folder)).value_or(SentenceModules());
  if (!pooling_mode.empty()) {
    const auto& known = pooling_modes();
    for (const std::string& mode : pooling_mode)
      if (std::find(known.begin(), known.end(), mode) == known.end())
        return Error(err::kSettingChoice, fmt::format("there is no pooling '{}'", mode))
            .at("--pooling_mode")
            .todo(fmt::format("one of {}", join(known, ", ")));
    modules.form.pooling = pooling_mode;
  }
  if (normalize_embeddings) modules.form.normalize = *normalize_embeddings;
  if (max_seq_length > 0) modules.max_seq_length = max_seq_length;
  return modules;
}

int64_t EmbeddingSettings::text_tokens(const SentenceModules& modules,
                                       const ModelConfig& config) const {
  return modules.max_seq_length > 0 ? std::min(modules.max_seq_length, config.max_positions)
                                    : config.max_positions;
}

Result<const TextLoss*> EmbeddingSettings::loss_of(const TableOfTexts& table) const {
  const bool labelled = !table.label_column.empty();
  const TextLoss* found = find_text_loss(!loss.empty() ? loss
                                         : labelled    ? "CoSENTLoss"
                                                       : "MultipleNegativesRankingLoss");
  HONE_BUG_IF(found == nullptr, "the shelf has no loss '{}'", loss);
  const auto columns = std::ssize(table.columns);
  if (columns < found->least_columns || columns > found->most_columns)
    return Error(err::kSettingBounds,
                 fmt::format("{} reads {} columns of texts, the rows have {}: {}", found->name,
                             found->least_columns == found->most_columns
                                 ? std::to_string(found->least_columns)
                                 : fmt::format("at least {}", found->least_columns),
                             columns, join(table.columns, ", ")))
        .at("--loss")
        .todo("name the columns with --text_column_names, or choose another loss");
  if (found->labels && (!labelled || table.labels_of_row != 1))
    return Error(err::kSettingBounds,
                 fmt::format("{} reads one label a row, the rows have {}", found->name,
                             labelled ? std::to_string(table.labels_of_row) : "none"))
        .at("--loss")
        .todo("name the column of the label with --label_column_name, or choose another loss");
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (table.has_lists(c))
      return Error(err::kSettingBounds,
                   fmt::format("column '{}' holds lists of texts", table.columns[c]))
          .at("--train_file")
          .todo("write one text in each column of a training row");
  return found;
}

TextLossOptions EmbeddingSettings::loss_options(const TextLoss& of) const {
  return {.scale = similarity_scale,
          .margin = margin.value_or(of.usual_margin),
          .distance = distance_metric.empty() ? of.usual_distance : distance_metric};
}

Result<Matryoshka> EmbeddingSettings::matryoshka(int64_t width) const {
  std::vector<std::pair<int64_t, double>> parts;
  for (size_t i = 0; i < matryoshka_dims.size(); ++i) {
    const double dim = HONE_TRY(number_of(matryoshka_dims[i], "matryoshka_dims"));
    if (dim > static_cast<double>(width) || dim != static_cast<double>(static_cast<int64_t>(dim)))
      return Error(err::kSettingBounds,
                   fmt::format("{} is not a size of a part of embeddings of {} numbers",
                               matryoshka_dims[i], width))
          .at("--matryoshka_dims");
    const double weight = i < matryoshka_weights.size()
                              ? HONE_TRY(number_of(matryoshka_weights[i], "matryoshka_weights"))
                              : 1;
    parts.emplace_back(static_cast<int64_t>(dim), weight);
  }
  if (!matryoshka_weights.empty() && matryoshka_weights.size() != matryoshka_dims.size())
    return Error(err::kSettingBounds,
                 fmt::format("there are {} weights for {} sizes", matryoshka_weights.size(),
                             matryoshka_dims.size()))
        .at("--matryoshka_weights")
        .todo("give a weight for each of --matryoshka_dims, or none");
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Matryoshka out;
  for (const auto& [dim, weight] : parts) {
    out.dims.push_back(dim);
    out.weights.push_back(weight);
  }
  return out;
}

Result<std::string> EmbeddingSettings::prompt_of(const std::string& column) const {
  std::string found;
  for (const std::string& prompt : prompts) {
    const size_t equals = prompt.find('=');
    if (equals == std::string::npos)
      return Error(err::kSettingType, fmt::format("the prompt '{}' has no '='", prompt))
          .at("--prompts")
          .todo("write COLUMN=TEXT, or =TEXT for all columns");
    if (equals == 0 || prompt.substr(0, equals) == column) found = prompt.substr(equals + 1);
  }
  return found;
}

#define HONE_BIND EmbeddingSettings::bind
#define HONE_SETTINGS "learn/tasks/embedding_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
