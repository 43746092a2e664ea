// Evaluations of embeddings, with the numbers of sentence-transformers' evaluators: which one depends on the columns
// of the rows.
//
//   two texts and a score                 EmbeddingSimilarityEvaluator: pearson_, spearman_cosine
//   anchor, positive, negative            TripletEvaluator: cosine_accuracy
//   query, lists of positives, negatives  RerankingEvaluator: map, mrr@10, ndcg@10
//   two texts                             InformationRetrievalEvaluator: the second texts of all rows are the corpus
//   queries with a corpus and qrels       InformationRetrievalEvaluator: cosine_recall@10, cosine_ndcg@10 ...
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/metrics/retrieval.h"
#include "learn/tasks/embedding_settings.h"

namespace hone {

struct EmbeddingEvalSet {
  enum class Kind { scores, triplets, reranking, retrieval } kind = Kind::scores;
  std::vector<std::string> texts;  // each once, in the order of first use
  int64_t rows = 0;                // of the table
  // By kind, indices of texts. scores: two for each row; triplets: three.
  std::vector<int32_t> tuples;
  std::vector<float> scores;
  // reranking: the query of each sample and its texts, of which the first `positives` answer.
  struct Sample {
    int32_t query = 0;
    int64_t positives = 0;
    std::vector<int32_t> texts;
  };
  std::vector<Sample> samples;
  // retrieval: texts of the corpus with their ids, which order equal scores; queries and the places in the corpus of
  // the texts that answer them.
  std::vector<int32_t> corpus;
  std::vector<std::string> corpus_ids;
  struct Query {
    int32_t text = 0;
    std::vector<int32_t> answers;
  };
  std::vector<Query> queries;
};

// The prompt of a column of the table ("" of the corpus: "document").
using PromptOf = std::function<Result<std::string>(const std::string& column)>;

// Errors: H2110 columns that no evaluation reads.
Result<EmbeddingEvalSet> eval_set_of(const TableOfTexts& table, const PromptOf& prompt_of);
// Errors: H2109 a column is missing, H2121 a qrel names an unknown text.
Result<EmbeddingEvalSet> retrieval_set(const EmbeddingSettings& s,
                                       const std::vector<std::string>& queries,
                                       const PromptOf& prompt_of);

// `embeddings`: `width` floats for each text. `similarity`: "cosine" or "dot".
// `examples`: receives the scores of each row of the table, sample or query; null: not needed.
OrderedJson evaluate_embeddings(const EmbeddingEvalSet& set, std::span<const float> embeddings,
                                int64_t width, const std::string& similarity,
                                ExampleScores* examples = nullptr);
// The cosine, or the product, of the embeddings of texts i and j.
float similarity_of(std::span<const float> embeddings, int64_t width, const std::string& similarity,
                    int32_t i, int32_t j);
// The names of the values that an evaluation gives, the one that compares models first.
std::vector<std::string> embedding_metric_names(EmbeddingEvalSet::Kind kind,
                                                const std::string& similarity);
// Those of every evaluation, with either similarity.
std::vector<std::string> embedding_metric_names();

}  // namespace hone
