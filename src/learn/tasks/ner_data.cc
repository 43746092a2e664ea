#include "learn/tasks/ner_data.h"

#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"
#include "learn/tokenizers/load/load.h"

namespace hone {
namespace {

// Everything besides the files that decides the rows. Without `all`, the settings for reading only
// if they differ from the default.
OrderedJson ner_shard_settings(const NerSettings& s, const ModelConfig& config,
                               const Tokenizer& tokenizer, bool all) {
  OrderedJson j;
  j["task"] = "ner";
  j["tokenizer"] = tokenizer_hash(tokenizer);
  add_row_settings(schema_of(s), {{"max_seq_length", s.row_tokens(config)}}, all, j);
  return j;
}

Result<Tokenizer> tagged_words(const Pretrained& model) {
  return for_words(*HONE_TRY(tokenizer_of(model)));
}

Result<LabelSources> ner_sources(const NerSettings& s) {
  LabelSourceRequest request = named_sources(s, s.test_file);
  request.glue = false;
  return find_label_sources(request);
}

// Reads the splits of a run one after the other.
class TagReader {
 public:
  static Result<TagReader> open(const NerSettings& s, const Pretrained& model, ThreadPool& pool,
                                const LabelSources& sources) {
    return TagReader(s, model.config, HONE_TRY(tagged_words(model)), pool, sources);
  }

  Result<TaggedText> read(const std::string& split, const std::vector<std::string>& patterns,
                          std::vector<std::string>& notes) {
    if (is_shard_folder(patterns[0])) {
      const ShardManifest made =
          HONE_TRY(checked_shards(patterns, ner_shard_settings(s_, config_, tokenizer_, false)));
      TaggedText text = HONE_TRY(open_tagged_shards(patterns[0], made, split));
      if (names_.empty()) names_ = text.names;
      return text;
    }
    RowOptions options;
    options.format = s_.data_format;
    options.encoding = HONE_TRY(encoding_of(s_.encoding));
    options.header_example = "tokens,ner_tags";
    columns_.need_tags = split != "test";
    const EncodeWords encode = [this](auto rows, auto out) {
      return encode_words(tokenizer_, pool_, s_.row_tokens(config_), rows, out);
    };
    TaggedText text = HONE_TRY(read_tagged(HONE_TRY(expand_files(patterns, split)), options,
                                           columns_, encode, s_.label_all_tokens));
    notes.push_back(fmt::format("{}: words from {}{}", split, text.words,
                                text.tagged ? ", labels from " + text.tags : ""));
    columns_.words = text.words;
    if (columns_.need_tags) columns_.tags = text.tags;
    if (names_.empty()) names_ = text.names;
    if (const auto at = sources_.labels.find(text.tags);
        names_.empty() && at != sources_.labels.end())
      names_ = at->second;
    return text;
  }
  const std::vector<std::string>& names() const { return names_; }  // of the labels, after read()
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  TagReader(const NerSettings& s, const ModelConfig& config, Tokenizer tokenizer, ThreadPool& pool,
            const LabelSources& sources)
      : s_(s),
        config_(config),
        tokenizer_(std::move(tokenizer)),
        pool_(pool),
        sources_(sources),
        columns_{s.text_column_name, s.label_column_name, s.task_name} {}

  const NerSettings& s_;
  const ModelConfig& config_;
  Tokenizer tokenizer_;
  ThreadPool& pool_;
  const LabelSources& sources_;
  TagColumns columns_;
  std::vector<std::string> names_;
};

// Labels by the names of the data set, else those of the rows, else the checkpoint's.
Result<LabelMap> labels_of(const NerSettings& s, const Pretrained& model, const TagReader& reader,
                           const SeenLabels* seen) {
  const auto own = HONE_TRY(label_names_of_config(model.config.config, model.name));
  std::vector<std::string> names = reader.names().empty() ? own : reader.names();
  if (names.empty())
    for (int64_t i = 0; i < model.config.labels; ++i) names.push_back(fmt::format("LABEL_{}", i));
  const LabelMap map = reader.names().empty() && seen && s.do_train ? HONE_TRY(sorted_labels(*seen))
                                                                    : named_labels(names);
  if (map.regression)
    return Error(err::kLabel, "the labels of the words are numbers with a fraction")
        .at(seen && !seen->all().empty() ? seen->all()[0].where : "the data")
        .todo("labels are texts such as B-PER, or whole numbers");
  return s.ignore_mismatched_sizes ? map : remap_labels(map, own, model.name);
}

std::string tag_balance(const LabelledRows& data, const LabelMap& map) {
  std::vector<int64_t> counts(map.names.size());
  for (const int32_t tag : data.labels.tags)
    if (tag != kIgnoreLabel) ++counts[static_cast<size_t>(tag)];
  return label_counts(map, counts, 12);
}

}  // namespace

Result<NerData> read_ner(const NerSettings& s, const Pretrained& model, ThreadPool& pool) {
  const LabelSources sources = HONE_TRY(ner_sources(s));
  NerData out;
  out.notes = sources.notes;
  TagReader reader = HONE_TRY(TagReader::open(s, model, pool, sources));
  out.tokenizer = reader.tokenizer();
  std::optional<TaggedText> train, eval, test;
  if (!sources.train.empty()) train = HONE_TRY(reader.read("train", sources.train, out.notes));
  if (!sources.validation.empty())
    eval = HONE_TRY(reader.read("validation", sources.validation, out.notes));
  if (s.do_predict) test = HONE_TRY(reader.read("test", sources.test, out.notes));

  out.map = HONE_TRY(labels_of(s, model, reader, train ? &train->seen : nullptr));
  for (auto* text : {&train, &eval, &test})
    if (*text && (*text)->tagged) HONE_TRY(number_tags(**text, out.map));

  LabelledRows split_off;
  if (s.do_eval && !eval) {
    const int64_t rows = train->data.size();
    const int64_t kept =
        HONE_TRY(keep_for_validation(rows, s.validation_split_percentage, s.do_train, out.notes));
    LabelledRows rest;
    split_off.append(train->data, 0, kept);
    rest.append(train->data, kept, rows);
    train->data = std::move(rest);
  }
  const auto finish = [&](LabelledRows data, const LabelCounts* counts, const std::string& split,
                          int64_t most, double fraction) -> Result<LabelledRows> {
    const int64_t all = data.size();
    data.keep_first(HONE_TRY(selected_rows(all, most, fraction)));
    if (counts)
      out.notes.push_back(
          fmt::format("{}: {}", split, describe(*counts, all, s.row_tokens(model.config))));
    if (data.size() < all)
      out.notes.push_back(fmt::format("{}: the first {} of these are used", split, data.size()));
    return data;
  };
  if (s.do_train) {
    out.train_counts = train->counts;
    out.train_rows = train->data.size();
    out.train = HONE_TRY(finish(std::move(train->data), &train->counts, "train",
                                s.max_train_samples, s.fraction_of_train_data));
    out.notes.push_back("train: " + tag_balance(*out.train, out.map));
  }
  if (s.do_eval) {
    if (eval) out.eval_counts = eval->counts;
    out.eval =
        HONE_TRY(finish(eval ? std::move(eval->data) : std::move(split_off),
                        eval ? &eval->counts : nullptr, "validation", s.max_eval_samples, 1));
    out.evaluated = out.eval->size();
  }
  if (!test) return out;
  out.test_tagged = test->tagged;
  const LabelledRows rows =
      HONE_TRY(finish(std::move(test->data), &test->counts, "test", s.max_predict_samples, 1));
  if (!out.eval) out.eval.emplace();
  out.eval->append(rows, 0, rows.size());
  return out;
}

// The first rows, whose tags are numbered; `text` keeps the others.
static TaggedText take_first(TaggedText& text, int64_t rows) {
  const int64_t all = text.data.size();
  TaggedText first;
  first.tagged = text.tagged;
  LabelledRows rest;
  first.data.append(text.data, 0, rows);
  rest.append(text.data, rows, all);
  text.data = std::move(rest);
  for (TaggedText* part : {&first, &text}) {
    part->counts = {};
    part->counts.rows_read = part->data.size();
    part->counts.tokens = part->data.rows.tokens();
  }
  return first;
}

// All rows of the splits, as prepared shards hold them.
static Result<std::vector<RowSplit>> read_splits(const NerSettings& s, const Pretrained& model,
                                                 const LabelSources& sources, ThreadPool& pool,
                                                 std::vector<std::string>& notes) {
  TagReader reader = HONE_TRY(TagReader::open(s, model, pool, sources));
  std::vector<std::pair<std::string, TaggedText>> texts;
  for (const auto& [name, files] : {std::pair("train", &sources.train),
                                    {"validation", &sources.validation},
                                    {"test", &sources.test}})
    if (!files->empty()) texts.emplace_back(name, HONE_TRY(reader.read(name, *files, notes)));
  const LabelMap map = reader.names().empty() ? HONE_TRY(sorted_labels(texts[0].second.seen))
                                              : named_labels(reader.names());
  for (auto& [name, text] : texts)
    if (text.tagged) HONE_TRY(number_tags(text, map));
  if (s.do_train && s.do_eval && sources.validation.empty()) {
    TaggedText& train = texts[0].second;
    if (HONE_TRY(validation_rows(train.data.size(), s.validation_split_percentage)) > 0) {
      const int64_t kept = HONE_TRY(
          keep_for_validation(train.data.size(), s.validation_split_percentage, true, notes));
      texts.emplace(texts.begin() + 1, "validation", take_first(train, kept));
    }
  }
  std::vector<RowSplit> splits;
  for (auto& [name, text] : texts) {
    notes.push_back(fmt::format(
        "{}: {}", name, describe(text.counts, text.data.size(), s.row_tokens(model.config))));
    if (text.tagged) notes.push_back(fmt::format("{}: {}", name, tag_balance(text.data, map)));
    splits.push_back(
        tagged_split(name, std::move(text.data), text.counts, text.tagged ? &map : nullptr));
  }
  return splits;
}

PreparedSource ner_source(const std::shared_ptr<NerSettings>& s) {
  return {.choose_splits = [s] { want_named_splits(*s, s->test_file); },
          .sources = [s] { return ner_sources(*s); },
          .shard_settings = [s](const Pretrained& model) -> Result<OrderedJson> {
            return ner_shard_settings(*s, model.config, HONE_TRY(tagged_words(model)), true);
          },
          .splits =
              [s](const Pretrained& model, const LabelSources& sources, ThreadPool& pool,
                  std::vector<std::string>& notes) {
                return read_splits(*s, model, sources, pool, notes);
              }};
}

#define HONE_BIND NerSettings::bind
#define HONE_SETTINGS "learn/tasks/ner_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
