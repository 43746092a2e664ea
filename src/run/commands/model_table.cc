#include "run/commands/model_table.h"

#include <algorithm>

#include "base/core/table.h"
#include "base/core/text.h"
#include "learn/models/errors.h"
#include "learn/models/family.h"
#include "learn/models/gguf_layout.h"
#include "learn/tasks/tasks.h"
#include "run/commands/screen.h"

namespace hone {
namespace {

// Whether the task trains models of the type: whether it finds its head.
bool trains(const Task& task, const Family& f, const ModelType& type) {
  ModelConfig config;
  config.family = f.name;
  config.config = {{"model_type", type.name}};
  const Status chosen = task.choose_head(config);
  return chosen.ok() || !chosen.error().is(err::kHeadNotOffered);
}

TextTable table_of_types() {
  TextTable table({{.name = "model type"},
                   {.name = "heads", .kind = Column::kSentence},
                   {.name = "tasks", .kind = Column::kSentence},
                   {.name = "GGUF"}});
  struct Row {
    std::string type;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
  const std::vector<Task> tasks = all_task();
  for (const Family& f : families()) {
    for (const ModelType& type : f.model_types) {
      std::vector<std::string> heads, trained;
      for (const HeadOffer& offer : f.heads)
        if (offer.model_types.empty() || std::ranges::count(offer.model_types, type.name) > 0)
          heads.push_back(name_of(offer.head));
      for (const Task& task : tasks)
        if (trains(task, f, type)) trained.push_back(task.name);
      rows.push_back({type.name,
                      {type.name, join(heads, ", "), join(trained, ", "),
                       type.gguf ? type.gguf->architecture : ""}});
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.type < b.type; });
  for (Row& row : rows) table.add(std::move(row.cells));
  return table;
}

}  // namespace

std::string model_table(bool markdown) {
  const TextTable table = table_of_types();
  if (!markdown)
    return table.text(screen_width()) +
           "\nGGUF: the architecture of llama.cpp's files that hone reads and writes. All types "
           "are "
           "read from safetensors\nand files of torch.save. The command: hone models --help\n";
  return "# Models\n\nWritten by `hone help models --markdown`, from the shelves of families and "
         "tasks. A model type is `model_type` of\n`config.json`; each is read from safetensors and "
         "from files of torch.save, and, if GGUF names an architecture, from\nllama.cpp's files, "
         "and written to all of them. Every task runs on CPUs and NVIDIA GPUs, with LoRA and "
         "QLoRA.\n\n" +
         table.markdown();
}

}  // namespace hone
