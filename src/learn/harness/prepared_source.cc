#include "learn/harness/prepared_source.h"

#include <algorithm>

#include "base/store/hash.h"
#include "learn/data/formats/rows.h"
#include "learn/harness/text_source.h"
#include "learn/tokenizers/load/load.h"
#include "learn/train/ledger.h"

namespace hone {

std::vector<std::string> data_formats(bool with_text) {
  std::vector<std::string> names{""};
  for (const Format& f : all_format())
    if (with_text || f.name != "text") names.push_back(f.name);
  return names;
}

LabelSourceRequest named_sources(const TaskSettings& s, const std::vector<std::string>& test_file) {
  LabelSourceRequest r;
  r.dataset = named_dataset(s);
  r.train_file = s.train_file;
  r.validation_file = s.validation_file;
  r.test_file = test_file;
  r.want_train = s.do_train;
  r.want_validation = s.do_eval;
  r.want_test = s.do_predict;
  return r;
}

void want_named_splits(TaskSettings& s, const std::vector<std::string>& test_file) {
  const bool files = !s.train_file.empty() || !s.validation_file.empty() || !test_file.empty();
  const bool named = !s.dataset_name.empty() || !files;
  s.do_train = named || !s.train_file.empty();
  s.do_eval =
      named || !s.validation_file.empty() || (s.do_train && s.validation_split_percentage > 0);
  s.do_predict = !test_file.empty();
}

Result<std::vector<PreparedFiles>> split_files(const LabelSources& sources) {
  std::vector<PreparedFiles> all;
  for (const auto& [split, files] : {std::pair("train", &sources.train),
                                     {"validation", &sources.validation},
                                     {"validation_mismatched", &sources.mismatched},
                                     {"test", &sources.test},
                                     {"test_mismatched", &sources.test_mismatched}})
    if (!files->empty()) {
      auto expanded = HONE_TRY(expand_files(*files, split));
      all.push_back({split, std::move(expanded)});
    }
  return all;
}

std::string tokenizer_hash(const Tokenizer& tokenizer) {
  return sha256_of_text(dump_json(parse_json(tokenizer_json(tokenizer), "tokenizer").value()));
}

void add_row_settings(const Schema& schema, const OrderedJson& chosen, bool all, OrderedJson& j) {
  for (const Setting& setting : schema.all()) {
    if (!decides(setting, "rows") && !decides(setting, "reading")) continue;
    const OrderedJson value =
        chosen.contains(setting.name) ? chosen[setting.name] : setting.value();
    if (all || decides(setting, "rows") || value != setting.defined_value) j[setting.name] = value;
  }
}

}  // namespace hone
