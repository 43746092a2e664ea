#include "learn/tasks/seq2seq_data.h"

#include "learn/data/formats/errors.h"
#include "learn/data/steps.h"
#include "learn/tasks/encode_texts.h"
#include "learn/tasks/label_sources.h"
#include "learn/tasks/text_rows.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

EncodeSide encode_with(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length) {
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

// Reads the splits of a run one after the other.
class Reader {
 public:
  Reader(const Seq2SeqSettings& s, const Pretrained& model, const Tokenizer& targets,
         ThreadPool& pool)
      : s_(s),
        wish_(s.wish()),
        max_source_(s.row_tokens(model.config)),
        positions_(model.config.max_positions),
        targets_(targets),
        pool_(pool) {
    rows_.format = s.data_format;
    options_.prefix = s.source_prefix;
    options_.skip_empty = !s.dataset_name.empty();
    options_.source = encode_with(*model.tokenizer, pool, max_source_);
  }

  // At most `limit` rows of the files; < 0: all.
  Result<PairRows> read(const std::string& split, const std::vector<std::string>& paths,
                        int64_t limit, std::vector<std::string>& notes) {
    rows_.encoding = HONE_TRY(encoding_of(s_.encoding));
    const auto files = HONE_TRY(expand_files(paths, split));
    PairReader reader = HONE_TRY(open(files));
    notes.push_back(fmt::format("{}: {}", split, reader.note()));
    // What one split chose, the next ones take.
    if (const auto columns = reader.columns(); !columns.empty() && wish_.source_lang.empty()) {
      wish_.source_column = columns[0];
      wish_.target_column = columns[1];
    }
    const int64_t max_target = std::min(s_.target_length(split == "train"), positions_);
    options_.target = encode_with(targets_, pool_, max_target);
    PairRows rows = HONE_TRY(read_pairs(reader, options_, limit < 0 ? INT64_MAX : limit));
    notes.push_back(fmt::format("{}: {}", split, describe(rows, max_source_, max_target)));
    if (rows.size() == 0)
      return Error(err::kNoRows, fmt::format("the {} data have no pair of texts", split))
          .at(files[0])
          .todo("give more data");
    return rows;
  }

 private:
  Result<PairReader> open(const std::vector<std::string>& files) const {
    if (!wish_.source_lang.empty())
      if (const auto pair = parallel_files(files, wish_.source_lang, wish_.target_lang))
        return PairReader::open_parallel(pair->sources, pair->targets, rows_);
    return PairReader::open(files, rows_, wish_);
  }

  const Seq2SeqSettings& s_;
  PairWish wish_;
  int64_t max_source_, positions_;
  const Tokenizer& targets_;
  ThreadPool& pool_;
  RowOptions rows_;
  PairOptions options_;
};

LabelSourceRequest request_of(const Seq2SeqSettings& s) {
  LabelSourceRequest r;
  r.dataset = named_dataset(s, s.cache_dir, s.token);
  r.glue = false;
  r.train_file = s.train_file;
  r.validation_file = s.validation_file;
  r.test_file = s.test_file;
  r.want_train = s.do_train;
  r.want_validation = s.do_eval;
  r.want_test = s.do_predict;
  return r;
}

}  // namespace

Result<Seq2SeqData> read_seq2seq(const Seq2SeqSettings& s, const Pretrained& model,
                                 const Tokenizer& targets, ThreadPool& pool) {
  const LabelSources sources = HONE_TRY(find_label_sources(request_of(s)));
  Seq2SeqData out;
  out.notes = sources.notes;
  Reader reader(s, model, targets, pool);
  std::optional<PairRows> train, eval;
  const bool splits = s.do_eval && sources.validation.empty();
  if (!sources.train.empty())
    train =
        HONE_TRY(reader.read("train", sources.train, splits ? -1 : s.max_train_samples, out.notes));
  if (!sources.validation.empty())
    eval = HONE_TRY(reader.read("validation", sources.validation, s.max_eval_samples, out.notes));
  if (splits) {
    const int64_t rows = train->size();
    const int64_t kept =
        HONE_TRY(keep_for_validation(rows, s.validation_split_percentage, s.do_train, out.notes));
    eval.emplace().append(*train, 0, kept);
    PairRows rest;
    rest.append(*train, kept, rows);
    rest.first_source = train->first_source;
    train = std::move(rest);
  }
  if (train) out.first_source = train->first_source;
  const auto keep = [&](PairRows& rows, const std::string& split, int64_t most,
                        double share) -> Status {
    const int64_t all = rows.size();
    rows.keep_first(HONE_TRY(selected_rows(all, most, share)));
    if (rows.size() < all)
      out.notes.push_back(fmt::format("{}: the first {} of these are used", split, rows.size()));
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
  const PairRows test =
      HONE_TRY(reader.read("test", sources.test, s.max_predict_samples, out.notes));
  if (out.first_source.empty()) out.first_source = test.first_source;
  if (!out.eval) out.eval.emplace();
  out.test_rows = test.size();
  out.eval->append(test, 0, test.size());
  return out;
}

}  // namespace hone
