#include "learn/tasks/classification_check.h"

#include <algorithm>
#include <unordered_map>

#include "base/core/text.h"
#include "learn/check/row_faults.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/selection.h"
#include "learn/tasks/classification_data.h"
#include "learn/tasks/classification_metrics.h"

namespace hone {
namespace {

constexpr size_t kMostLabels = 1 << 20;

std::string text_of_cell(const Row& row, size_t column) {
  const auto* text =
      column < row.cells.size() ? std::get_if<std::string>(&row.cells[column]) : nullptr;
  return text ? *text : std::string();
}

class LabelScan {
 public:
  LabelScan(const ClassificationSettings& s, const Pretrained& model, ThreadPool& pool,
            int64_t samples, Findings& findings)
      : s_(s),
        model_(model),
        findings_(findings),
        max_length_(s.row_tokens(model.config)),
        encode_(encode_texts_with(model, &pool, max_length_)),
        most_samples_(samples) {}

  Status split(const char* name, const LabelSources& sources, SplitReport& report) {
    validation_ = name != std::string_view("train");
    const std::vector<std::string>& files = validation_ ? sources.validation : sources.train;
    if (files.empty() || is_shard_folder(files[0])) return Ok{};  // shards hold no texts
    faults_ = {};
    LabelReader reader = HONE_TRY(open_classification(s_, sources, name));
    const size_t label = reader.columns.label.value_or(0);
    tell_guess(name, reader.columns.guess);
    if (!validation_ || sources.train.empty()) tell_text_guess(name, reader.columns.text_guess);
    tell_lost_row(name, reader.columns.lost_row, files[0]);
    named_ = named_ || s_.glue() || !sources.labels.empty() || !reader.rows->label_names().empty();
    Row row;
    while (HONE_TRY(reader.rows->next(row))) {
      ++report.rows;
      places_.push_back(files_read_.place(row.file, row.line));
      first_.push_back(text_of_cell(row, reader.columns.first));
      if (reader.columns.second) second_.push_back(text_of_cell(row, *reader.columns.second));
      named_rows_.emplace_back();
      if (Result<int32_t> seen = labels_.add(row, label, "label"); seen.ok()) {
        look_at_texts(*seen);
        named_rows_.back() = labels_.all()[static_cast<size_t>(*seen)].text;
      }
      if (first_.size() == kBatchRows) HONE_TRY(flush(report));
    }
    HONE_TRY(flush(report));
    report.empty = faults_.rows(RowFault::kEmpty);
    faults_.tell({name, report.rows, fmt::format("the {} that are kept", max_length_),
                  "the rest is cut off: raise --max_seq_length",
                  [&](RowPlace place) { return where(place); }},
                 findings_);
    return Ok{};
  }

  // Training would go by whatever is last.
  void tell_guess(const char* split, const std::string& guess) {
    if (guess.empty()) return;
    findings_.add(FindingLevel::kWarning, "guessed_label_column",
                  fmt::format("{}: {}", split, guess), "",
                  "name the column with `label_column_name`, or call it 'label'");
  }

  // An id that is read as the second text of a pair changes every row.
  void tell_text_guess(const char* split, const std::string& guess) {
    if (guess.empty()) return;
    findings_.add(FindingLevel::kWarning, "guessed_text_columns",
                  fmt::format("{}: {}", split, guess), "",
                  "name the columns that hold the text with `text_column_names`");
  }

  void tell_lost_row(const char* split, const std::string& lost, const std::string& file) {
    if (lost.empty()) return;
    findings_.add(FindingLevel::kWarning, "header_is_a_row", fmt::format("{}: {}", split, lost),
                  file + ":1", "if it is a row, name the columns of the file by `column_names`");
  }

  // The first training rows as they were read, with the labels of the file: also of rows whose labels
  // alone do not make a task.
  const std::vector<SampleRow>& samples() const { return samples_; }

  // The labels, ascending, where they are whole numbers that nothing gives names; else none.
  std::vector<int64_t> bare_numbers() const {
    std::vector<int64_t> numbers;
    for (const SeenLabels::Label& label : labels_.all()) {
      if (label.is_missing()) continue;
      if (named_ || !label.whole) return {};
      numbers.push_back(*label.whole);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  void tell_copies(const RowsReport& report) const {
    const auto place = [&](RowPlace p) { return where(p); };
    tell_repeated(table_, report.train.rows, report.eval.rows, place, "accuracy", findings_);
    if (contradicting_ > 0)
      findings_.add(
          FindingLevel::kWarning, "contradicting_labels",
          contradicting_ == 1
              ? "1 row has the text of a row before it and another label"
              : fmt::format("{} rows have the text of a row before them and another label",
                            contradicting_),
          fmt::format("first {}, as {}", where(again_), where(before_)),
          "decide which label is right");
  }

 private:
  std::string where(RowPlace place) const { return files_read_.text(place); }

  void look_at_texts(int32_t label) {
    const RowPlace place = places_.back();
    std::string text = first_.back();
    const bool pair = !second_.empty();
    if (is_blank(text) || (pair && is_blank(second_.back())))
      return faults_.note(RowFault::kEmpty, place);
    if (pair) text += '\x1f' + second_.back();
    table_.add(text, validation_, place);
    if (pair) text[first_.back().size()] = ' ';
    faults_.look_at_text(text, place);
    if (validation_ || known_.size() >= kMostLabels) return;
    const auto [at, fresh] =
        known_.try_emplace(std::hash<std::string>{}(text), std::pair(label, place));
    if (!fresh && at->second.first != label && contradicting_++ == 0)
      again_ = place, before_ = at->second.second;
  }

  Status flush(SplitReport& report) {
    const std::vector<std::string_view> first(first_.begin(), first_.end()),
        second(second_.begin(), second_.end());
    EncodedTexts encoded;
    HONE_TRY(encode_(first, second, encoded));
    for (size_t i = 0; i < first.size(); ++i) {
      report.bytes +=
          static_cast<int64_t>(first[i].size() + (second.empty() ? 0 : second[i].size()));
      report.counts.tokens_read += static_cast<int64_t>(encoded.ids[i].size());
      if (!encoded.cut.empty() && encoded.cut[i]) {
        ++report.counts.rows_cut;
        faults_.note(RowFault::kLong, places_[i]);
      }
      if (!validation_ && std::ssize(samples_) < most_samples_)
        samples_.push_back({encoded.ids[i], {}, named_rows_[i]});
      faults_.look_at_ids(encoded.ids[i], model_.tokenizer ? &*model_.tokenizer : nullptr,
                          model_.config.vocab, !second.empty(), places_[i]);
    }
    first_.clear(), second_.clear(), places_.clear(), named_rows_.clear();
    return Ok{};
  }

  const ClassificationSettings& s_;
  const Pretrained& model_;
  Findings& findings_;
  int64_t max_length_;
  EncodeTexts encode_;
  RowFaults faults_;
  RowTable table_;
  SeenLabels labels_;
  std::unordered_map<size_t, std::pair<int32_t, RowPlace>> known_;  // labels of training texts
  int64_t contradicting_ = 0;
  RowPlace again_, before_;
  bool validation_ = false, named_ = false;
  RowFiles files_read_;
  int64_t most_samples_;
  std::vector<SampleRow> samples_;
  std::vector<std::string> first_, second_,
      named_rows_;  // texts and labels that wait for the tokenizer
  std::vector<RowPlace> places_;
};

std::string name_of(const LabelMap& map, size_t i) { return preview(map.names[i], 40); }

void check_balance(const LabelledRows& data, const LabelMap& map, Findings& findings) {
  if (map.regression) {
    const auto [least, most] =
        std::minmax_element(data.labels.values.begin(), data.labels.values.end());
    if (*least == *most)
      findings.add(FindingLevel::kWarning, "one_value",
                   fmt::format("train: every value is {:g}", *least), "",
                   "there is nothing to tell apart: check --label_column_name");
    return;
  }
  std::vector<int64_t> counts(map.names.size());
  for (const int32_t label : data.labels.classes) ++counts[static_cast<size_t>(label)];
  for (const std::vector<int32_t>& set : data.labels.sets)
    for (const int32_t label : set) ++counts[static_cast<size_t>(label)];
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0)
      findings.add(FindingLevel::kWarning, "label_without_rows",
                   fmt::format("train: no row has the label {}", name_of(map, i)), "",
                   "the model will not learn it: give rows of it, or check the labels");
  const auto most =
      static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  const double share = percent_of(counts[most], data.size());
  if (counts.size() > 1 && share > 80)
    findings.add(
        FindingLevel::kWarning, "unbalanced_labels",
        fmt::format("train: {:.1f} % of the rows have the label {}", share, name_of(map, most)), "",
        "always answering that is right as often: look at F1 or Matthews, not accuracy");
}

// Evaluated rows of one class say nothing about the others, such as the first rows of a file that is sorted by label.
void check_evaluated(const LabelledRows& data, const LabelMap& map, Findings& findings) {
  const std::vector<int32_t>& classes = data.labels.classes;
  if (map.names.size() < 2 || classes.empty()) return;
  if (std::ranges::count(classes, classes[0]) < std::ssize(classes)) return;
  findings.add(FindingLevel::kWarning, "one_evaluated_label",
               fmt::format("validation: every row has the label {}",
                           name_of(map, static_cast<size_t>(classes[0]))),
               "", "give rows of all labels by --validation_file, or shuffle the file");
}

// The label of a training row, or its labels.
std::string label_text(const ClassificationData& data, size_t row) {
  const RowLabels& labels = data.train->labels;
  if (data.map.regression) return fmt::format("{:g}", labels.values[row]);
  if (!data.map.many) return data.map.names[static_cast<size_t>(labels.classes[row])];
  std::vector<std::string> names;
  for (const int32_t label : labels.sets[row])
    names.push_back(data.map.names[static_cast<size_t>(label)]);
  return join(names, ", ");
}

// A checkpoint that names its labels, and data that only number them.
void check_names(const std::vector<int64_t>& numbers, const Pretrained& model, Findings& findings) {
  const auto own = label_names_of_config(model.config.config, model.name);
  if (numbers.empty() || !own.ok() || own->size() != numbers.size()) return;
  findings.add(FindingLevel::kWarning, "labels_without_names",
               fmt::format("the labels are numbers, the checkpoint calls them {}: {} is taken for "
                           "{}, and so on",
                           join(*own, ", "), numbers[0], (*own)[0]),
               "", "the data set may number them in another order: give the names as labels");
}

}  // namespace

RowsReport check_labels(const ClassificationSettings& s, const CheckRequest& request,
                        Findings& findings) {
  const Pretrained& model = request.model;
  RowsReport report;
  const auto sources = classification_sources(s);
  if (!sources.ok()) {
    findings.add(sources.error());
    return report;
  }
  LabelScan scan(s, model, request.pool, request.samples, findings);
  const bool read = findings.passed(scan.split("train", *sources, report.train)) &&
                    findings.passed(scan.split("validation", *sources, report.eval));
  report.samples = scan.samples();
  if (read) scan.tell_copies(report);
  Result<ClassificationData> data = read_classification(s, model, request.pool);
  if (!data.ok()) {
    // The first reading reported it already.
    if (read) findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  if (!data->train) return report;
  report.train.sequences = data->train->size();
  check_balance(*data->train, data->map, findings);
  if (data->eval) {
    report.eval.sequences = data->eval->size();
    report.eval.rows =
        std::max(report.eval.rows, report.eval.sequences);  // may be among those of the training
    check_evaluated(*data->eval, data->map, findings);
  }
  report.metrics = row_metrics_of_classification(data->map.many         ? LabelKind::kMany
                                                 : data->map.regression ? LabelKind::kNumber
                                                                        : LabelKind::kClass);
  if (!data->map.regression) check_names(scan.bare_numbers(), model, findings);
  report.samples.clear();
  for (int64_t i = 0; i < std::min(request.samples, data->train->size()); ++i) {
    const auto ids = data->train->rows.row(i);
    const auto k = static_cast<size_t>(i);
    report.samples.push_back({{ids.begin(), ids.end()}, {}, label_text(*data, k)});
  }
  return report;
}

}  // namespace hone
