#include "learn/tasks/embedding_evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/tasks/text_tables.h"

namespace hone {
namespace {

// Numbers texts, each once.
class TextNumbers {
 public:
  explicit TextNumbers(std::vector<std::string>& texts) : texts_(texts) {}
  int32_t add(std::string text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<int32_t>(texts_.size()));
    if (is_new) texts_.push_back(std::move(text));
    return at->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, int32_t> numbers_;
};

// The place of a corpus text, which counts once.
class CorpusPlaces {
 public:
  explicit CorpusPlaces(EmbeddingEvalSet& set) : set_(set) {}
  int32_t add(int32_t text) {
    const auto [at, is_new] = places_.try_emplace(text, static_cast<int32_t>(set_.corpus.size()));
    if (is_new) {
      set_.corpus_ids.push_back(fmt::format("{:012}", set_.corpus.size()));
      set_.corpus.push_back(text);
    }
    return at->second;
  }

 private:
  EmbeddingEvalSet& set_;
  std::unordered_map<int32_t, int32_t> places_;
};

void add_reranking(const TableOfTexts& table, const std::vector<std::string>& prompts,
                   TextNumbers& numbers, EmbeddingEvalSet& set) {
  for (size_t i = 0; i < static_cast<size_t>(set.rows); ++i) {
    EmbeddingEvalSet::Sample sample;
    sample.query = numbers.add(prompts[0] + table.texts[0][i]);
    for (size_t c : {size_t{1}, size_t{2}})
      for (const std::string& text : table.lists[c][i])
        sample.texts.push_back(numbers.add(prompts[c] + text));
    sample.positives = std::ssize(table.lists[1][i]);
    set.samples.push_back(std::move(sample));
  }
}

double length_of(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}

float product(std::span<const float> x, std::span<const float> y) {
  constexpr size_t kLanes = 8;  // sums that a compiler keeps in a vector
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (size_t k = 0; k < kLanes; ++k) sums[k] += x[i + k] * y[i + k];
  for (; i < x.size(); ++i) sums[0] += x[i] * y[i];
  return std::accumulate(std::begin(sums), std::end(sums), 0.0f);
}

// Rows of length 1, or as they are.
std::vector<float> comparable(std::span<const float> embeddings, int64_t width,
                              const std::string& similarity) {
  std::vector<float> out(embeddings.begin(), embeddings.end());
  if (similarity != "cosine") return out;
  const auto w = static_cast<size_t>(width);
  for (size_t at = 0; at + w <= out.size(); at += w) {
    const auto length =
        static_cast<float>(std::max(length_of(std::span(out).subspan(at, w)), 1e-12));
    for (size_t i = 0; i < w; ++i) out[at + i] /= length;
  }
  return out;
}

// The best hits of a query in the order of the evaluator: by score, then by id.
std::vector<uint8_t> hits_of(const EmbeddingEvalSet& set, const EmbeddingEvalSet::Query& query,
                             std::span<const float> scores) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto most = std::min<std::ptrdiff_t>(RetrievalMetrics::kMostHits, std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + most, order.end(), [&](int32_t a, int32_t b) {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    if (scores[i] != scores[j]) return scores[i] > scores[j];
    return set.corpus_ids[i] < set.corpus_ids[j];
  });
  std::vector<uint8_t> hits;
  for (std::ptrdiff_t i = 0; i < most; ++i)
    hits.push_back(std::find(query.answers.begin(), query.answers.end(),
                             order[static_cast<size_t>(i)]) != query.answers.end());
  return hits;
}

// The values of an evaluation, and the scores of each row if `examples` is not null.
class EmbeddingEvaluator {
 public:
  EmbeddingEvaluator(const EmbeddingEvalSet& set, std::span<const float> embeddings, int64_t width,
                     const std::string& similarity, ExampleScores* examples)
      : set_(set),
        embeddings_(embeddings),
        width_(width),
        similarity_(similarity),
        examples_(examples) {}

  OrderedJson values() {
    switch (set_.kind) {
      case EmbeddingEvalSet::Kind::scores:
        evaluate_scores();
        break;
      case EmbeddingEvalSet::Kind::triplets:
        evaluate_triplets();
        break;
      case EmbeddingEvalSet::Kind::reranking:
        evaluate_samples();
        break;
      case EmbeddingEvalSet::Kind::retrieval:
        evaluate_queries();
        break;
    }
    out_["samples"] = set_.rows;
    return std::move(out_);
  }

 private:
  float score(int32_t i, int32_t j) const {
    return similarity_of(embeddings_, width_, similarity_, i, j);
  }
  static void put(OrderedJson& out, const std::string& prefix, const MetricValues& values) {
    for (const MetricValue& v : values) out[prefix + v.name] = v.value;
  }
  void add_row(size_t row, const OrderedJson& members) {
    if (examples_) examples_->add(static_cast<int64_t>(row), members);
  }
  void add_row(size_t row, const std::string& prefix, const MetricValues& values) {
    OrderedJson scores = OrderedJson::object();
    put(scores, prefix, values);
    add_row(row, {{"scores", scores}});
  }

  void evaluate_scores() {
    std::vector<float> predicted;
    for (size_t i = 0; i < set_.scores.size(); ++i) {
      const float own = score(set_.tuples[2 * i], set_.tuples[2 * i + 1]), wanted = set_.scores[i];
      predicted.push_back(own);
      add_row(i, {{"prediction", own},
                  {"reference", wanted},
                  {"scores", {{"predicted", own}, {"wanted", wanted}}}});
    }
    for (const MetricValue& v : correlations(predicted, set_.scores))
      out_[fmt::format("{}_{}", v.name, similarity_)] = v.value;
  }

  void evaluate_triplets() {
    const std::string name = similarity_ + "_accuracy";
    int64_t right = 0;
    for (size_t i = 0; i < static_cast<size_t>(set_.rows); ++i) {
      const int32_t* of = &set_.tuples[3 * i];
      const float near = score(of[0], of[1]), far = score(of[0], of[2]);
      right += near > far;
      add_row(i, {{"prediction", {near, far}}, {"scores", {{name, near > far ? 1 : 0}}}});
    }
    out_[name] = static_cast<double>(right) / static_cast<double>(std::max<int64_t>(set_.rows, 1));
  }

  void evaluate_samples() {
    RerankingMetrics all;
    for (size_t i = 0; i < set_.samples.size(); ++i) {
      const EmbeddingEvalSet::Sample& sample = set_.samples[i];
      std::vector<float> scores;
      std::vector<uint8_t> answers;
      for (size_t k = 0; k < sample.texts.size(); ++k) {
        scores.push_back(score(sample.query, sample.texts[k]));
        answers.push_back(static_cast<int64_t>(k) < sample.positives);
      }
      all.add(scores, answers);
      RerankingMetrics one;
      one.add(scores, answers);
      if (one.queries() > 0) add_row(i, "", one.values());
    }
    put(out_, "", all.values());
  }

  void evaluate_queries() {
    const std::vector<float> rows = comparable(embeddings_, width_, similarity_);
    const auto w = static_cast<size_t>(width_);
    const auto row = [&](int32_t i) {
      return std::span(rows).subspan(static_cast<size_t>(i) * w, w);
    };
    RetrievalMetrics all;
    std::vector<float> scores(set_.corpus.size());
    for (size_t i = 0; i < set_.queries.size(); ++i) {
      const EmbeddingEvalSet::Query& query = set_.queries[i];
      for (size_t k = 0; k < scores.size(); ++k)
        scores[k] = product(row(query.text), row(set_.corpus[k]));
      const std::vector<uint8_t> hits = hits_of(set_, query, scores);
      all.add(hits, std::ssize(query.answers));
      RetrievalMetrics one;
      one.add(hits, std::ssize(query.answers));
      add_row(i, similarity_ + "_", one.values());
    }
    put(out_, similarity_ + "_", all.values());
  }

  const EmbeddingEvalSet& set_;
  std::span<const float> embeddings_;
  int64_t width_;
  const std::string& similarity_;
  ExampleScores* examples_;
  OrderedJson out_;
};

// The text of a cell that may be a number: an id.
std::string id_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return std::to_string(*number);
  return "";
}

// The rows of some columns, as texts; columns in `optional` may be missing.
Result<std::vector<std::vector<std::string>>> read_columns(
    const std::vector<std::string>& files, const RowOptions& options,
    const std::vector<std::string>& names, const std::vector<std::string>& optional) {
  RowOptions named = options;
  named.header_example = join(names, ",");
  const auto rows = HONE_TRY(open_rows(files, named));
  std::vector<std::vector<std::string>> out;
  Row row;
  while (HONE_TRY(rows->next(row))) {
    std::vector<std::string>& to = out.emplace_back();
    for (const std::string& name : names) {
      const auto at = place_of(rows->columns(), name);
      if (!at && std::find(optional.begin(), optional.end(), name) == optional.end())
        return no_column(rows->columns(), name, "", files[0]);
      to.push_back(at ? id_of(row.cells[*at]) : "");
    }
  }
  return out;
}

}  // namespace

Result<EmbeddingEvalSet> eval_set_of(const TableOfTexts& table, const PromptOf& prompt_of) {
  EmbeddingEvalSet set;
  TextNumbers numbers(set.texts);
  set.rows = table.rows();
  std::vector<std::string> prompts;
  for (const std::string& column : table.columns) prompts.push_back(HONE_TRY(prompt_of(column)));
  const auto rows = static_cast<size_t>(set.rows);
  const auto text = [&](size_t column, size_t row) {
    return numbers.add(prompts[column] + table.texts[column][row]);
  };
  const size_t columns = table.columns.size();
  if (columns == 3 && !table.has_lists(0) && table.has_lists(1) && table.has_lists(2)) {
    set.kind = EmbeddingEvalSet::Kind::reranking;
    add_reranking(table, prompts, numbers, set);
    return set;
  }
  HONE_TRY(expect_single_texts(
      table, "lists are read in rows of a query, a list of positives and a list of negatives"));
  if (columns < 2)
    return Error(err::kCellType, fmt::format("the rows have {} column of texts", columns))
        .at(table.places[0])
        .todo("an evaluation compares two texts or more");
  if (!table.label_column.empty() && table.labels_of_row == 1) {
    set.kind = EmbeddingEvalSet::Kind::scores;
    set.scores = table.labels;
    for (size_t i = 0; i < rows; ++i)
      for (size_t c : {size_t{0}, size_t{1}}) set.tuples.push_back(text(c, i));
    return set;
  }
  if (columns >= 3) {
    set.kind = EmbeddingEvalSet::Kind::triplets;
    for (size_t i = 0; i < rows; ++i)
      for (size_t c = 0; c < 3; ++c) set.tuples.push_back(text(c, i));
    return set;
  }
  set.kind = EmbeddingEvalSet::Kind::retrieval;
  CorpusPlaces corpus(set);
  std::unordered_map<int32_t, size_t> query_of;
  for (size_t i = 0; i < rows; ++i) {
    const int32_t query = text(0, i), place = corpus.add(text(1, i));
    const auto [at, is_new] = query_of.try_emplace(query, set.queries.size());
    if (is_new) set.queries.push_back({query, {}});
    std::vector<int32_t>& answers = set.queries[at->second].answers;
    if (std::find(answers.begin(), answers.end(), place) == answers.end()) answers.push_back(place);
  }
  return set;
}

Result<EmbeddingEvalSet> retrieval_set(const EmbeddingSettings& s,
                                       const std::vector<std::string>& queries,
                                       const PromptOf& prompt_of) {
  EmbeddingEvalSet set;
  set.kind = EmbeddingEvalSet::Kind::retrieval;
  TextNumbers numbers(set.texts);
  const RowOptions options = HONE_TRY(text_table_flags(s).row_options());
  const std::string query_prompt = HONE_TRY(prompt_of("query")),
                    text_prompt = HONE_TRY(prompt_of("document"));
  std::map<std::string, int32_t> places, query_places;
  for (const auto& row :
       HONE_TRY(read_columns(s.corpus_file, options, {"_id", "text", "title"}, {"title"}))) {
    places[row[0]] = static_cast<int32_t>(set.corpus.size());
    set.corpus_ids.push_back(row[0]);
    set.corpus.push_back(
        numbers.add(text_prompt + (row[2].empty() ? row[1] : row[2] + " " + row[1])));
  }
  for (const auto& row : HONE_TRY(read_columns(queries, options, {"_id", "text"}, {}))) {
    query_places[row[0]] = static_cast<int32_t>(set.queries.size());
    set.queries.push_back({numbers.add(query_prompt + row[1]), {}});
  }
  RowOptions scores = options;
  for (const auto& row : HONE_TRY(
           read_columns(s.qrels_file, scores, {"query-id", "corpus-id", "score"}, {"score"}))) {
    if (row[2] == "0") continue;
    const auto query = query_places.find(row[0]);
    const auto place = places.find(row[1]);
    if (query == query_places.end()) continue;  // of another split
    if (place == places.end())
      return Error(err::kLabel, fmt::format("the corpus has no text '{}'", row[1]))
          .at(s.qrels_file[0])
          .todo("give the corpus that the qrels belong to");
    set.queries[static_cast<size_t>(query->second)].answers.push_back(place->second);
  }
  // As the evaluator, queries without an answer do not count.
  std::erase_if(set.queries, [](const auto& q) { return q.answers.empty(); });
  set.rows = std::ssize(set.queries);
  return set;
}

float similarity_of(std::span<const float> embeddings, int64_t width, const std::string& similarity,
                    int32_t i, int32_t j) {
  const auto w = static_cast<size_t>(width);
  const auto x = embeddings.subspan(static_cast<size_t>(i) * w, w),
             y = embeddings.subspan(static_cast<size_t>(j) * w, w);
  if (similarity != "cosine") return product(x, y);
  double sum = 0;
  for (size_t k = 0; k < w; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(y[k]);
  return static_cast<float>(sum / std::max(length_of(x) * length_of(y), 1e-24));
}

OrderedJson evaluate_embeddings(const EmbeddingEvalSet& set, std::span<const float> embeddings,
                                int64_t width, const std::string& similarity,
                                ExampleScores* examples) {
  return EmbeddingEvaluator(set, embeddings, width, similarity, examples).values();
}

std::vector<std::string> embedding_metric_names(EmbeddingEvalSet::Kind kind,
                                                const std::string& similarity) {
  std::vector<std::string> names;
  switch (kind) {
    case EmbeddingEvalSet::Kind::scores:
      return {"spearman_" + similarity, "pearson_" + similarity};
    case EmbeddingEvalSet::Kind::triplets:
      return {similarity + "_accuracy"};
    case EmbeddingEvalSet::Kind::reranking:
      for (const MetricValue& v : RerankingMetrics().values()) names.push_back(v.name);
      return names;
    case EmbeddingEvalSet::Kind::retrieval:
      break;
  }
  for (const MetricValue& v : RetrievalMetrics().values())
    names.push_back(similarity + "_" + v.name);
  // The primary metric of InformationRetrievalEvaluator.
  const auto first = std::find(names.begin(), names.end(), similarity + "_ndcg@10");
  std::rotate(names.begin(), first, first + 1);
  return names;
}

std::vector<std::string> embedding_metric_names() {
  using Kind = EmbeddingEvalSet::Kind;
  std::vector<std::string> names;
  for (const char* similarity : {"cosine", "dot"})
    for (const Kind kind : {Kind::scores, Kind::triplets, Kind::retrieval}) {
      const auto own = embedding_metric_names(kind, similarity);
      names.insert(names.end(), own.begin(), own.end());
    }
  for (std::string& name : embedding_metric_names(Kind::reranking, ""))
    names.push_back(std::move(name));
  return names;
}

}  // namespace hone
