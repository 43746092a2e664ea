#include "learn/data/rows/glue_tasks.h"

#include "base/core/text.h"

namespace hone {

std::span<const GlueTask> glue_tasks() {
  static const std::vector<GlueTask> kTasks = {
      {"cola",
       {"sentence"},
       {"unacceptable", "acceptable"},
       {"sentence"},
       "label",
       {"source", "label", "original_label", "sentence"}},
      {"mnli",
       {"premise", "hypothesis"},
       {"entailment", "neutral", "contradiction"},
       {"sentence1", "sentence2"},
       "gold_label",
       {}},
      {"mrpc",
       {"sentence1", "sentence2"},
       {"not_equivalent", "equivalent"},
       {"#1 String", "#2 String"},
       "Quality",
       {"Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"}},
      {"qnli",
       {"question", "sentence"},
       {"entailment", "not_entailment"},
       {"question", "sentence"},
       "label",
       {"index", "question", "sentence", "label"}},
      {"qqp",
       {"question1", "question2"},
       {"not_duplicate", "duplicate"},
       {"question1", "question2"},
       "is_duplicate",
       {"id", "qid1", "qid2", "question1", "question2", "is_duplicate"}},
      {"rte",
       {"sentence1", "sentence2"},
       {"entailment", "not_entailment"},
       {"sentence1", "sentence2"},
       "label",
       {"index", "sentence1", "sentence2", "label"}},
      {"sst2",
       {"sentence"},
       {"negative", "positive"},
       {"sentence"},
       "label",
       {"sentence", "label"}},
      {"stsb",
       {"sentence1", "sentence2"},
       {},
       {"sentence1", "sentence2"},
       "score",
       {"index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1",
        "sentence2", "score"}},
      {"wnli",
       {"sentence1", "sentence2"},
       {"not_entailment", "entailment"},
       {"sentence1", "sentence2"},
       "label",
       {"index", "sentence1", "sentence2", "label"}},
  };
  return kTasks;
}

std::vector<std::string> glue_choices() {
  std::vector<std::string> names{""};
  for (const GlueTask& task : glue_tasks()) names.push_back(task.name);
  return names;
}

const GlueTask* find_glue_task(std::string_view name) {
  const std::string wanted = to_lower(name);
  for (const GlueTask& task : glue_tasks())
    if (task.name == wanted) return &task;
  return nullptr;
}

}  // namespace hone
