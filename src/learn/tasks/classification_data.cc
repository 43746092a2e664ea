#include "learn/tasks/classification_data.h"

#include <algorithm>
#include <ranges>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/order.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"
#include "learn/harness/mrpc_dev_ids.h"

namespace hone {
namespace {

constexpr const char* kColumns =
    "columns";  // of the texts, in what a prepared split tells of itself
constexpr const char* kNameColumns =
    "if that line is a row, name the columns of the files by `column_names`";

// The rows of a split, before the first; of a file that is split by dev_ids those of its part.
Result<LabelReader> open_split(const LabelSources& sources, const std::vector<std::string>& paths,
                               const std::string& split, const RowOptions& options,
                               const LabelColumnOptions& wanted) {
  Result<LabelReader> opened =
      open_label_rows(HONE_TRY(expand_files(paths, split)), options, wanted);
  if (!opened.ok()) {
    if (opened.error().is(err::kDataFormat))
      opened.error().todo(fmt::format(
          "name the format by --data_format ({}), or give the file a name with its extension",
          fmt::join(data_formats(false) | std::views::drop(1), ", ")));
    return opened;
  }
  if (!sources.dev_ids.empty() && !split.starts_with("test"))
    opened->rows =
        HONE_TRY(pick_by_dev_ids(std::move(opened->rows), sources.dev_ids, split != "train"));
  return opened;
}

std::string header_of(const ClassificationSettings& s) {
  const GlueTask* const glue = s.glue();
  std::vector<std::string> columns = s.text_column_names;
  if (columns.empty()) columns = glue ? glue->text : std::vector<std::string>{"text"};
  columns.push_back(s.label_column_name.empty() ? "label" : s.label_column_name);
  return join(columns, ",");
}

// Everything besides the files that decides the rows. Without `all`, the settings for reading only
// if they differ from the default.
Result<OrderedJson> classification_shard_settings(const ClassificationSettings& s,
                                                  const Pretrained& model, bool all) {
  OrderedJson j;
  j["task"] = "classification";
  j["tokenizer"] = tokenizer_hash(*HONE_TRY(tokenizer_of(model)));
  add_row_settings(schema_of(s), {{"max_seq_length", s.row_tokens(model.config)}}, all, j);
  return j;
}

// Reads the splits of a run one after the other.
class ClassificationReader {
 public:
  ClassificationReader(const ClassificationSettings& s, const Pretrained& model, ThreadPool& pool,
                       const LabelSources& sources)
      : s_(s),
        model_(model),
        sources_(sources),
        max_length_(s.row_tokens(model.config)),
        encode_(encode_texts_with(model, &pool, max_length_)) {
    columns_wanted_.task = s.glue();
    columns_wanted_.text_columns = s.text_column_names;
    columns_wanted_.label_column = s.label_column_name;
    columns_wanted_.delimiter = s.text_column_delimiter;
    columns_wanted_.keep_texts = s.example_scores != nullptr;
    if (!s.do_train) columns_wanted_.trained_columns = model.trained.columns;
    if (auto own = label_names_of_config(model.config.config, model.name); own.ok())
      columns_wanted_.known_labels = std::move(*own);
    options_.format = s.data_format;
    options_.column_names = s.column_names;
    options_.header_example = header_of(s);
  }

  Result<LabelledText> read(const std::string& split, const std::vector<std::string>& paths,
                            std::vector<std::string>& notes) {
    if (is_shard_folder(paths[0])) return read_shards(split, paths);
    columns_wanted_.label = !split.starts_with("test");
    options_.encoding = HONE_TRY(encoding_of(s_.encoding));
    Result<LabelReader> opened = open_split(sources_, paths, split, options_, columns_wanted_);
    if (!opened.ok() && opened.error().is(err::kNoColumn) && !lost_row_.empty())
      return Error(std::move(opened.error())).at(lost_row_).todo(kNameColumns);
    LabelReader reader = HONE_TRY(std::move(opened));
    if (lost_row_.empty()) lost_row_ = reader.columns.lost_row;
    for (const std::string& note : reader.columns.notes)
      notes.push_back(fmt::format("{}: {}", split, note));
    keep_columns(reader);
    LabelledText text = HONE_TRY(read_labelled(reader, columns_wanted_, encode_));
    if (names_.empty() && reader.columns.label) {
      const std::string& column = reader.rows->columns()[*reader.columns.label];
      const LabelNames of_file = reader.rows->label_names();
      for (const LabelNames* known : {&of_file, &sources_.labels})
        if (const auto at = known->find(column); names_.empty() && at != known->end())
          names_ = at->second;
    }
    return text;
  }

  // After read(): how the data set names the labels; empty when it does not.
  const std::vector<std::string>& names() const { return names_; }
  // The columns of the texts; empty: of the GLUE task, or prepared.
  const std::vector<std::string>& columns() const { return columns_wanted_.text_columns; }
  bool regression() const { return regression_; }  // prepared shards hold values
  int64_t max_length() const { return max_length_; }

 private:
  Result<LabelledText> read_shards(const std::string& split,
                                   const std::vector<std::string>& paths) {
    const ShardManifest made =
        HONE_TRY(checked_shards(paths, HONE_TRY(classification_shard_settings(s_, model_, false))));
    LabelledShards shards = HONE_TRY(open_labelled_shards(paths[0], made, split));
    if (columns_wanted_.text_columns.empty())
      for (const ShardSplit& of : made.splits)
        for (const OrderedJson& name : value_at(of.about, kColumns))
          if (of.name == split && name.is_string())
            columns_wanted_.text_columns.push_back(name.get<std::string>());
    if (names_.empty()) names_ = std::move(shards.names);
    regression_ = regression_ || shards.regression;
    return std::move(shards.text);
  }

  // Later splits use the columns of the first.
  void keep_columns(const LabelReader& reader) {
    if (columns_wanted_.task) return;
    const std::vector<std::string>& names = reader.rows->columns();
    columns_wanted_.text_columns = {names[reader.columns.first]};
    if (reader.columns.second)
      columns_wanted_.text_columns.push_back(names[*reader.columns.second]);
    for (const size_t more : reader.columns.joined)
      columns_wanted_.text_columns.push_back(names[more]);
    if (columns_wanted_.label) columns_wanted_.label_column = names[*reader.columns.label];
  }

  const ClassificationSettings& s_;
  const Pretrained& model_;
  const LabelSources& sources_;
  int64_t max_length_;
  EncodeTexts encode_;
  LabelColumnOptions columns_wanted_;
  RowOptions options_;
  std::vector<std::string> names_;
  bool regression_ = false;
  std::string lost_row_;  // of a split before
};

// Rows [begin, end) as they are, their labels not numbered yet.
LabelledText part_of(const LabelledText& from, int64_t begin, int64_t end) {
  LabelledText to;
  to.data.append(from.data, begin, end);
  to.seen = from.seen;
  if (!from.label.empty()) to.label.assign(from.label.begin() + begin, from.label.begin() + end);
  if (!from.label_sets.empty())
    to.label_sets.assign(from.label_sets.begin() + begin, from.label_sets.begin() + end);
  to.counts.rows_read = end - begin;
  to.counts.tokens = to.data.rows.tokens();
  return to;
}

std::string label_balance(const LabelledRows& data, const LabelMap& map) {
  if (map.regression) {
    const auto [least, most] =
        std::minmax_element(data.labels.values.begin(), data.labels.values.end());
    return fmt::format("numbers from {:g} to {:g}", *least, *most);
  }
  std::vector<int64_t> counts(map.names.size());
  for (const int32_t label : data.labels.classes) ++counts[static_cast<size_t>(label)];
  for (const std::vector<int32_t>& set : data.labels.sets)
    for (const int32_t label : set) ++counts[static_cast<size_t>(label)];
  return label_counts(map, counts, 8);
}

// Names of labels that a row may have any number of, in the order of run_classification: sorted as
// numbers, or as texts.
Result<LabelMap> sorted_sets(const SeenLabels& seen, const std::vector<std::string>& names) {
  LabelMap map = names.empty() ? HONE_TRY(sorted_labels(seen)) : named_labels(names);
  map.many = true;
  map.regression = false;
  return map;
}

LabelledRows shuffled(LabelledRows rows, uint64_t seed) {
  const RowOrder order = RowOrder::shuffled(rows.size(), seed);
  LabelledRows out;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int64_t row = order.index(0, i);
    out.append(rows, row, row + 1);
  }
  return out;
}

// The splits that are learnt from and validated on, their labels not numbered yet.
struct Texts {
  std::optional<LabelledText> train, eval, mismatched;
};

Result<Texts> read_texts(const ClassificationSettings& s, const LabelSources& sources,
                         ClassificationReader& reader, std::vector<std::string>& notes) {
  Texts out;
  if (!sources.train.empty()) out.train = HONE_TRY(reader.read("train", sources.train, notes));
  if (!sources.validation.empty())
    out.eval = HONE_TRY(reader.read("validation", sources.validation, notes));
  if (!sources.mismatched.empty() && s.evaluates_mismatched)
    out.mismatched = HONE_TRY(reader.read("validation_mismatched", sources.mismatched, notes));
  if (s.do_eval && !out.eval) {
    const int64_t rows = out.train->data.size();
    const int64_t kept =
        HONE_TRY(keep_for_validation(rows, s.validation_split_percentage, s.do_train, notes));
    out.eval = part_of(*out.train, 0, kept);
    out.train = part_of(*out.train, kept, rows);
  }
  return out;
}

// None: the labels have to be taken from the rows.
std::optional<LabelMap> labels_of_data(const ClassificationSettings& s,
                                       const ClassificationReader& reader) {
  if (const GlueTask* task = s.glue()) return named_labels(task->names);
  if (!reader.names().empty() || reader.regression()) return named_labels(reader.names());
  return {};
}

// Labels when nothing is trained: those of the checkpoint.
LabelMap checkpoint_labels(const std::vector<std::string>& own, const ModelConfig& config,
                           const SeenLabels& seen) {
  if (!own.empty()) return named_labels(own);
  const auto sorted = sorted_labels(seen);
  if (config.labels == 1 || (sorted.ok() && sorted->regression)) return named_labels({});
  std::vector<std::string> names;
  for (int64_t i = 0; i < config.labels; ++i) names.push_back(fmt::format("LABEL_{}", i));
  return named_labels(names);
}

// The labels of the run: of its rows, the data set, the task or the checkpoint.
Result<LabelMap> map_of_run(const ClassificationSettings& s, const Pretrained& model,
                            const ClassificationReader& reader,
                            const std::optional<LabelledText>& train,
                            const std::optional<LabelledText>& eval) {
  const auto own = HONE_TRY(label_names_of_config(model.config.config, model.name));
  const std::optional<LabelledText>& labelled = train ? train : eval;
  LabelMap map;
  if (labelled && !labelled->label_sets.empty())
    map = HONE_TRY(sorted_sets(labelled->seen, s.do_train || own.empty() ? reader.names() : own));
  else if (s.do_regression)
    map = named_labels({});
  else if (const auto known = labels_of_data(s, reader))
    map = *known;
  else if (s.do_train)
    map = HONE_TRY(sorted_labels(train->seen));
  else
    map = checkpoint_labels(own, model.config, eval ? eval->seen : SeenLabels());
  if (s.ignore_mismatched_sizes) return map;
  return remap_labels(map, own, model.name);
}

}  // namespace

EncodeTexts encode_texts_with(const Pretrained& model, ThreadPool* pool, int64_t max_length) {
  return [&model, pool, max_length](std::span<const std::string_view> first,
                                    std::span<const std::string_view> second,
                                    EncodedTexts& out) -> Status {
    const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
    const size_t n = first.size();
    out.ids.resize(n);
    out.type_ids.resize(n);
    std::vector<uint8_t> is_cut(n);
    HONE_TRY(encode_texts(tokenizer, *pool, max_length, first, second,
                          [&](size_t i, const Encoding& row) {
                            out.ids[i] = row.ids;
                            out.type_ids[i] = row.type_ids;
                            is_cut[i] = row.cut;
                          }));
    out.cut.assign(is_cut.begin(), is_cut.end());
    return Ok{};
  };
}

Result<LabelSources> classification_sources(const ClassificationSettings& s) {
  LabelSourceRequest request = named_sources(s, s.test_file);
  request.task = s.glue();
  request.data_dir = s.data_dir;
  request.mismatched_file = s.validation_mismatched_file;
  return find_label_sources(request);
}

Result<LabelReader> open_classification(const ClassificationSettings& s,
                                        const LabelSources& sources, const std::string& split) {
  RowOptions options;
  options.format = s.data_format;
  options.column_names = s.column_names;
  options.header_example = header_of(s);
  options.encoding = HONE_TRY(encoding_of(s.encoding));
  LabelColumnOptions wanted;
  wanted.task = s.glue();
  wanted.text_columns = s.text_column_names;
  wanted.label_column = s.label_column_name;
  wanted.delimiter = s.text_column_delimiter;
  return open_split(sources, split == "train" ? sources.train : sources.validation, split, options,
                    wanted);
}

// All rows of the splits, as prepared shards hold them.
Result<std::vector<RowSplit>> read_splits(const ClassificationSettings& s, const Pretrained& model,
                                          const LabelSources& sources, ThreadPool& pool,
                                          std::vector<std::string>& notes) {
  ClassificationReader reader(s, model, pool, sources);
  Texts texts = HONE_TRY(read_texts(s, sources, reader, notes));
  std::optional<LabelMap> map =
      s.do_regression ? std::optional(named_labels({})) : labels_of_data(s, reader);
  const auto& first = texts.train ? texts.train : texts.eval;
  if (first && !first->label_sets.empty())
    return Error(err::kLabel, "rows with several labels cannot be prepared")
        .todo("train on their files");
  if (first && !map) map = HONE_TRY(sorted_labels(first->seen));
  std::vector<RowSplit> splits;
  const auto add = [&](const std::string& name, LabelledText text, bool labelled) -> Status {
    if (labelled) HONE_TRY(number_labels(text, *map, name));
    const int64_t rows = text.data.size();
    notes.push_back(fmt::format("{}: {}", name, describe(text.counts, rows, reader.max_length())));
    if (labelled) notes.push_back(fmt::format("{}: {}", name, label_balance(text.data, *map)));
    splits.push_back(
        labelled_split(name, std::move(text.data), text.counts, labelled ? &*map : nullptr));
    splits.back().about[kColumns] = reader.columns();
    return Ok{};
  };
  if (texts.train) HONE_TRY(add("train", std::move(*texts.train), true));
  if (texts.eval) HONE_TRY(add("validation", std::move(*texts.eval), true));
  if (texts.mismatched) HONE_TRY(add("validation_mismatched", std::move(*texts.mismatched), true));
  for (const auto& [name, files] : {std::pair(std::string("test"), &sources.test),
                                    {"test_mismatched", &sources.test_mismatched}})
    if (!files->empty()) HONE_TRY(add(name, HONE_TRY(reader.read(name, *files, notes)), false));
  return splits;
}

PreparedSource classification_source(const std::shared_ptr<ClassificationSettings>& s) {
  return {
      .choose_splits = [s] { want_named_splits(*s, s->test_file); },
      .sources = [s] { return classification_sources(*s); },
      .shard_settings =
          [s](const Pretrained& model) { return classification_shard_settings(*s, model, true); },
      .splits =
          [s](const Pretrained& model, const LabelSources& sources, ThreadPool& pool,
              std::vector<std::string>& notes) {
            return read_splits(*s, model, sources, pool, notes);
          }};
}

Result<ClassificationData> read_classification(const ClassificationSettings& s,
                                               const Pretrained& model, ThreadPool& pool) {
  const LabelSources sources = HONE_TRY(classification_sources(s));

  ClassificationData out;
  out.notes = sources.notes;
  ClassificationReader reader(s, model, pool, sources);
  auto [train, eval, mismatched] = HONE_TRY(read_texts(s, sources, reader, out.notes));

  out.map = HONE_TRY(map_of_run(s, model, reader, train, eval));

  const auto finish = [&](LabelledText text, const std::string& split) -> Result<LabelledRows> {
    HONE_TRY(number_labels(text, out.map, split));
    const bool training = split == "train";
    const int64_t all = text.data.size();
    if (training) out.train_rows_labelled = all;
    if (training && s.shuffle_train_dataset)
      text.data = shuffled(std::move(text.data), static_cast<uint64_t>(s.shuffle_train_seed));
    text.data.keep_first(
        HONE_TRY(selected_rows(all, training ? s.max_train_samples : s.max_eval_samples,
                               training ? s.fraction_of_train_data : 1)));
    out.notes.push_back(
        fmt::format("{}: {}", split, describe(text.counts, all, reader.max_length())));
    if (text.data.size() < all)
      out.notes.push_back(
          fmt::format("{}: the first {} of these are used", split, text.data.size()));
    out.notes.push_back(fmt::format("{}: {}", split, label_balance(text.data, out.map)));
    return std::move(text.data);
  };
  out.columns = reader.columns();
  if (s.do_train) out.train = HONE_TRY(finish(std::move(*train), "train"));
  if (s.do_eval) {
    out.eval = HONE_TRY(finish(std::move(*eval), "validation"));
    out.matched = out.eval->size();
    if (mismatched) {
      const auto more = HONE_TRY(finish(std::move(*mismatched), "validation_mismatched"));
      out.mismatched = more.size();
      out.eval->append(more, 0, more.size());
    }
  }
  if (!s.do_predict) return out;
  if (!out.eval) out.eval.emplace();
  for (const bool half : {false, true}) {
    if (half && (sources.test_mismatched.empty() || !s.evaluates_mismatched)) continue;
    const std::string split = half ? "test_mismatched" : "test";
    LabelledText text =
        HONE_TRY(reader.read(split, half ? sources.test_mismatched : sources.test, out.notes));
    const int64_t all = text.data.size();
    out.notes.push_back(
        fmt::format("{}: {}", split, describe(text.counts, all, reader.max_length())));
    text.data.keep_first(HONE_TRY(selected_rows(all, s.max_predict_samples, 1)));
    if (text.data.size() < all)
      out.notes.push_back(
          fmt::format("{}: the first {} of these are used", split, text.data.size()));
    (half ? out.test_mismatched : out.test) = text.data.size();
    out.eval->append(text.data, 0, text.data.size());
  }
  return out;
}

}  // namespace hone
