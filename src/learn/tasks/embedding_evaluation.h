// Evaluates embeddings, with the results of sentence-transformers' evaluators. The columns of the rows decide which
// evaluator is used:
//
//   two texts and a score            EmbeddingSimilarityEvaluator: pearson_cosine, spearman_cosine
//   anchor, positive, negative       TripletEvaluator: cosine_accuracy
//   query, list of positives, list   RerankingEvaluator: map, mrr@10, ndcg@10
//     of negatives
//   two texts                        InformationRetrievalEvaluator: cosine_recall@10, cosine_ndcg@10, ...; the second
//                                    texts of all rows are the corpus
//   queries, a corpus and qrels      InformationRetrievalEvaluator with this corpus. The corpus is a file of texts with
//                                    ids; the qrels are a file of pairs: id of a query, id of a text that answers it
//
// If embeddings are compared by their dot product, the names have "dot" instead of "cosine".
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/metrics/retrieval.h"
#include "learn/tasks/embedding_settings.h"

namespace hone {

// The rows of an evaluation. Texts are given by their indices in `texts`.
struct EmbeddingEvalSet {
  enum class Kind { scores, triplets, reranking, retrieval } kind = Kind::scores;
  // All texts with their prompts, each once, in the order of first use.
  std::vector<std::string> texts;
  // Number of rows of the table. If the settings name a corpus: number of queries with at least one answer.
  int64_t rows = 0;
  // Kind scores: two texts for each row. Kind triplets: three texts for each row (anchor, positive, negative).
  std::vector<int32_t> tuples;
  std::vector<float> scores;  // kind scores: the score of each row, from the data
  // Kind reranking: the query of one row, with its texts. The first `positives` texts are answers to the query.
  struct Sample {
    int32_t query = 0;
    int64_t positives = 0;
    std::vector<int32_t> texts;
  };
  std::vector<Sample> samples;
  // Kind retrieval: the texts of the corpus and their ids. Texts whose similarities to a query are equal are ranked in
  // the order of their ids.
  std::vector<int32_t> corpus;
  std::vector<std::string> corpus_ids;
  // Kind retrieval: a query, and the texts that answer it, as indices in `corpus`.
  struct Query {
    int32_t text = 0;
    std::vector<int32_t> answers;
  };
  std::vector<Query> queries;
};

// Returns the prompt of a column of the table. retrieval_set() calls it with "query" for queries and "document" for
// texts of the corpus.
using PromptOf = std::function<Result<std::string>(const std::string& column)>;

// The evaluation of the rows of a table. Errors: H2110 the columns do not have one of the forms above; those of
// `prompt_of`.
Result<EmbeddingEvalSet> eval_set_of(const TableOfTexts& table, const PromptOf& prompt_of);
// The evaluation of queries with the corpus and the qrels that the settings name. `queries`: files of queries. Queries
// without an answer are left out. Errors: H2109 a column is missing; H2121 the qrels name a text that the corpus does
// not have; those of open_rows and of `prompt_of`.
Result<EmbeddingEvalSet> retrieval_set(const EmbeddingSettings& s,
                                       const std::vector<std::string>& queries,
                                       const PromptOf& prompt_of);

// The metrics of an evaluation by name. `embeddings`: `width` floats for each of set.texts. `similarity`: "cosine" or
// "dot". `examples`: receives the scores of each row (kinds scores and triplets), of each element of set.samples, or of
// each element of set.queries; null: the scores are not needed.
OrderedJson evaluate_embeddings(const EmbeddingEvalSet& set, std::span<const float> embeddings,
                                int64_t width, const std::string& similarity,
                                ExampleScores* examples = nullptr);
// The similarity of the embeddings of texts i and j: their cosine, or with "dot" their dot product.
float similarity_of(std::span<const float> embeddings, int64_t width, const std::string& similarity,
                    int32_t i, int32_t j);
// The names of the metrics of an evaluation. Models are compared by the first one.
std::vector<std::string> embedding_metric_names(EmbeddingEvalSet::Kind kind,
                                                const std::string& similarity);
// The names of the metrics of all kinds of evaluations, for "cosine" and for "dot".
std::vector<std::string> embedding_metric_names();

}  // namespace hone
