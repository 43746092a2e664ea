#include "learn/tasks/seq2seq_data.h"

#include <algorithm>

#include "base/core/json.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

const std::vector<std::string>& files_of(const LabelSources& sources, const std::string& split) {
  if (split == "train") return sources.train;
  return split == "test" ? sources.test : sources.validation;
}

// Everything besides the files that decides the rows. Without `all`, the settings for reading only
// if they differ from the default.
OrderedJson seq2seq_shard_settings(const Seq2Seq& q, const ModelConfig& config,
                                   const PairTokenizers& tokenizers, bool all) {
  const PairColumnOptions wanted = q.wanted();
  Schema schema("hone train", "");
  q.settings->TaskSettings::bind(schema);
  q.bind(schema);
  OrderedJson j;
  j["task"] = q.name;
  j["tokenizer"] = tokenizer_hash(tokenizers.sources);
  j["target_tokenizer"] = tokenizer_hash(tokenizers.targets);
  add_row_settings(schema,
                   {{"max_source_length", q.settings->source_tokens(config)},
                    {"max_target_length", target_limit(q, config, "train")},
                    {"val_max_target_length", target_limit(q, config, "validation")},
                    {wanted.source_name, wanted.source_column},
                    {wanted.target_name, wanted.target_column}},
                   all, j);
  return j;
}

void use_first(PairRows& rows, const std::string& split, int64_t count,
               std::vector<std::string>& notes) {
  if (count >= rows.size()) return;
  rows.keep_first(count);
  notes.push_back(fmt::format("{}: the first {} of these are used", split, grouped(count)));
}

// Reads the splits of a run one after the other.
class Seq2SeqReader {
 public:
  Seq2SeqReader(const Seq2Seq& q, const LabelSources& sources, const ModelConfig& config,
                const PairTokenizers& tokenizers, ThreadPool& pool)
      : q_(q),
        sources_(sources),
        config_(config),
        columns_wanted_(q.wanted()),
        max_source_(q.settings->source_tokens(config)),
        tokenizers_(tokenizers),
        pool_(pool) {
    options_.prefix = q.settings->source_prefix;
    options_.skip_empty = !q.settings->dataset_name.empty();
    options_.source = encode_side_with(tokenizers.sources, pool, max_source_);
  }

  void use_trained(std::vector<std::string> columns) {
    columns_wanted_.trained_columns = std::move(columns);
  }
  // After read(): source and target; empty: unknown, or those of languages.
  std::vector<std::string> columns() const {
    if (columns_wanted_.source_column.empty() || columns_wanted_.target_column.empty()) return {};
    return {columns_wanted_.source_column, columns_wanted_.target_column};
  }

  // At most `limit` rows of the files; < 0: all.
  Result<PairRows> read(const std::string& split, int64_t limit, std::vector<std::string>& notes) {
    if (const auto& files = files_of(sources_, split); is_shard_folder(files[0])) {
      const OrderedJson wanted = seq2seq_shard_settings(q_, config_, tokenizers_, false);
      const ShardManifest made = HONE_TRY(checked_shards(files, wanted));
      for (auto [name, column] :
           {std::pair(&columns_wanted_.source_name, &columns_wanted_.source_column),
            {&columns_wanted_.target_name, &columns_wanted_.target_column}})
        if (column->empty()) *column = text_at(made.settings, name->c_str());
      PairRows rows = HONE_TRY(open_pair_shards(files[0], made, split, split == "train"));
      // The shards count the texts that were cut over all rows.
      notes.push_back(fmt::format("{}: {}", split,
                                  describe(rows, max_source_, target_limit(q_, config_, split))));
      if (limit >= 0) use_first(rows, split, limit, notes);
      return rows;
    }
    if (q_.read) return read_own(split, limit, notes);
    columns_wanted_.target = split != "test";
    options_.predict = !columns_wanted_.target;
    PairReader reader = HONE_TRY(open_pairs(q_, sources_, split, columns_wanted_));
    notes.push_back(fmt::format("{}: {}", split, reader.note()));
    // Later splits use the columns of the first.
    if (const auto columns = reader.columns();
        columns.size() == 2 && columns_wanted_.source_lang.empty()) {
      columns_wanted_.source_column = columns[0];
      columns_wanted_.target_column = columns[1];
    }
    const int64_t max_target = target_limit(q_, config_, split);
    options_.target = encode_side_with(tokenizers_.targets, pool_, max_target);
    PairRows rows = HONE_TRY(read_pairs(reader, options_, limit < 0 ? INT64_MAX : limit));
    notes.push_back(fmt::format("{}: {}", split, describe(rows, max_source_, max_target)));
    if (rows.size() == 0)
      return Error(err::kNoRows, fmt::format("the {} data have no pair of texts", split))
          .at(files_of(sources_, split)[0])
          .todo("give more data");
    return rows;
  }

 private:
  // By the task's own reader.
  Result<PairRows> read_own(const std::string& split, int64_t limit,
                            std::vector<std::string>& notes) {
    const int64_t max_target = target_limit(q_, config_, split);
    options_.target = encode_side_with(tokenizers_.targets, pool_, max_target);
    options_.predict = split == "test";
    const std::vector<std::string> files = HONE_TRY(expand_files(files_of(sources_, split), split));
    PairRows rows =
        HONE_TRY(q_.read({.split = split, .files = files, .limit = limit, .options = options_}));
    notes.push_back(fmt::format("{}: {}", split, describe(rows, max_source_, max_target)));
    return rows;
  }

  const Seq2Seq& q_;
  const LabelSources& sources_;
  const ModelConfig& config_;
  PairColumnOptions columns_wanted_;
  int64_t max_source_;
  const PairTokenizers& tokenizers_;
  ThreadPool& pool_;
  PairOptions options_;
};

// The splits that are learnt from and validated on; of their files at most that number of rows,
// unless the training rows are split.
struct Pairs {
  std::optional<PairRows> train, eval;
};
Result<Pairs> read_splits(const Seq2SeqSettings& s, const LabelSources& sources,
                          Seq2SeqReader& reader, int64_t max_train, int64_t max_eval,
                          std::vector<std::string>& notes) {
  Pairs out;
  const bool splits = s.do_eval && sources.validation.empty();
  if (!sources.train.empty())
    out.train = HONE_TRY(reader.read("train", splits ? -1 : max_train, notes));
  if (!sources.validation.empty()) out.eval = HONE_TRY(reader.read("validation", max_eval, notes));
  if (!splits) return out;
  const int64_t rows = out.train->size();
  const int64_t kept =
      HONE_TRY(keep_for_validation(rows, s.validation_split_percentage, s.do_train, notes));
  out.eval.emplace().append(*out.train, 0, kept);
  PairRows rest;
  rest.append(*out.train, kept, rows);
  rest.first_source = out.train->first_source;
  out.train = std::move(rest);
  return out;
}

}  // namespace

EncodeSide encode_side_with(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length) {
  return [&tokenizer, &pool, max_length](std::span<const std::string_view> texts,
                                         EncodedSide& out) -> Status {
    out.ids.resize(texts.size());
    std::vector<uint8_t> is_cut(texts.size());
    HONE_TRY(
        encode_texts(tokenizer, pool, max_length, texts, {}, [&](size_t i, const Encoding& row) {
          out.ids[i] = row.ids;
          is_cut[i] = row.cut;
        }));
    out.cut.assign(is_cut.begin(), is_cut.end());
    return Ok{};
  };
}

Result<LabelSources> seq2seq_sources(const Seq2Seq& q) {
  LabelSourceRequest r = named_sources(*q.settings, q.settings->test_file);
  r.glue = false;
  return find_label_sources(r);
}

PreparedSource seq2seq_source(const Seq2Seq& q) {
  return {.choose_splits = [q] { want_named_splits(*q.settings, q.settings->test_file); },
          .sources = [q] { return seq2seq_sources(q); },
          .shard_settings = [q](const Pretrained& model) -> Result<OrderedJson> {
            const PairTokenizers tokenizers = HONE_TRY(open_pair_tokenizers(q, model));
            return seq2seq_shard_settings(q, model.config, tokenizers, true);
          },
          .splits = [q](const Pretrained& model, const LabelSources& sources, ThreadPool& pool,
                        std::vector<std::string>& notes) -> Result<std::vector<RowSplit>> {
            const PairTokenizers tokenizers = HONE_TRY(open_pair_tokenizers(q, model));
            Seq2SeqReader reader(q, sources, model.config, tokenizers, pool);
            Pairs pairs = HONE_TRY(read_splits(*q.settings, sources, reader, -1, -1, notes));
            std::vector<RowSplit> splits;
            if (pairs.train) splits.push_back(pair_split("train", std::move(*pairs.train)));
            if (pairs.eval) splits.push_back(pair_split("validation", std::move(*pairs.eval)));
            if (q.settings->do_predict)
              splits.push_back(pair_split("test", HONE_TRY(reader.read("test", -1, notes))));
            return splits;
          },
          .splits_by_file = true};
}

static std::string header_of(const PairColumnOptions& wanted) {
  if (!wanted.source_lang.empty())
    return language_key(wanted.source_lang) + "," + language_key(wanted.target_lang);
  return (wanted.source_column.empty() ? "text" : wanted.source_column) + "," +
         (wanted.target_column.empty() ? "summary" : wanted.target_column);
}

Result<PairReader> open_pairs(const Seq2Seq& q, const LabelSources& sources,
                              const std::string& split, const PairColumnOptions& wanted) {
  RowOptions options;
  options.format = q.settings->data_format;
  options.encoding = HONE_TRY(encoding_of(q.settings->encoding));
  options.header_example = header_of(wanted);
  const auto files = HONE_TRY(expand_files(files_of(sources, split), split));
  if (!wanted.source_lang.empty()) {
    if (const auto pair =
            parallel_files(files, wanted.source_lang, wanted.target_lang, wanted.target))
      return PairReader::open_parallel(pair->sources, pair->targets, options);
    for (const auto& [there, lacking] : {std::pair(wanted.source_lang, wanted.target_lang),
                                         std::pair(wanted.target_lang, wanted.source_lang)})
      if (parallel_files(files, there, lacking, false))
        return Error(err::kTranslation,
                     fmt::format("'{}' is of language {}, and no file is of language {}", files[0],
                                 language_key(there), language_key(lacking)))
            .at(fmt::format("the {} data", split))
            .todo("name both files: line i of one is the translation of line i of the other");
  }
  return PairReader::open(files, options, wanted);
}

int64_t target_limit(const Seq2Seq& q, const ModelConfig& config, const std::string& split) {
  return std::min(q.settings->target_length(split == "train"), config.max_positions);
}

Result<Seq2SeqData> read_seq2seq(const Seq2Seq& q, const Pretrained& model,
                                 const PairTokenizers& tokenizers, ThreadPool& pool) {
  const Seq2SeqSettings& s = *q.settings;
  const LabelSources sources = HONE_TRY(seq2seq_sources(q));
  Seq2SeqData out;
  out.notes = sources.notes;
  Seq2SeqReader reader(q, sources, model.config, tokenizers, pool);
  if (!s.do_train) reader.use_trained(model.trained.columns);
  auto [train, eval] =
      HONE_TRY(read_splits(s, sources, reader, s.max_train_samples, s.max_eval_samples, out.notes));
  out.columns = reader.columns();
  if (train) out.first_source = train->first_source;
  const auto keep = [&](PairRows& rows, const std::string& split, int64_t most,
                        double share) -> Status {
    use_first(rows, split, HONE_TRY(selected_rows(rows.size(), most, share)), out.notes);
    return Ok{};
  };
  if (s.do_train) {
    HONE_TRY(keep(*train, "train", s.max_train_samples, s.fraction_of_train_data));
    out.train = std::move(*train);
  }
  if (s.do_eval) {
    HONE_TRY(keep(*eval, "validation", s.max_eval_samples, 1));
    if (out.first_source.empty()) out.first_source = eval->first_source;
    out.eval = std::move(*eval);
    out.eval_rows = out.eval->size();
  }
  if (!s.do_predict) return out;
  const PairRows test = HONE_TRY(reader.read("test", s.max_predict_samples, out.notes));
  if (!test.has_targets && !s.predict_with_generate)
    return Error(err::kNothingToDo,
                 "the rows to predict have no targets to compare with, and no texts are written")
        .at("--do_predict")
        .todo("add --predict_with_generate, which writes a text for each row");
  out.test_has_targets = test.has_targets;
  if (out.first_source.empty()) out.first_source = test.first_source;
  if (!out.eval) out.eval.emplace();
  out.test_rows = test.size();
  out.eval->append(test, 0, test.size());
  return out;
}

}  // namespace hone
