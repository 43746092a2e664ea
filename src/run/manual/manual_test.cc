// Completion scripts and manual pages of made-up commands; tests/runs/completion.run has hone's own.
#include <gtest/gtest.h>

#include "base/core/process.h"
#include "base/core/text.h"
#include "run/manual/completion.h"
#include "run/manual/man_pages.h"

namespace hone {
namespace {

struct ExampleFlags {
  std::string verb = "list", kind = "a", file, name;
  double rate = 0.5;
  bool fast = false;
  std::vector<std::string> to;
};

std::vector<CommandSheet> example_sheets() {
  ExampleFlags f;
  CommandSheet train{.name = "train", .summary = "train it", .group = "Train"};
  Schema schema("hone train", "train it");
  schema.add("kind", &f.kind, "What", "kind of 'it'; one of two");
  schema.choices("kind", {"alpha", "beta"});
  schema.add("file", &f.file, "What", ".hidden files too");
  schema.add("rate", &f.rate, "What", "a rate \\ of ~ 1");
  schema.add("fast", &f.fast, "What", "quick");
  schema.add("to", &f.to, "What", "several");
  schema.choices("to", {"x", "y"});
  add_flags(train, schema, "");
  CommandSheet models{.name = "models", .summary = "models", .group = "Operate"};
  Schema verbs("hone models", "models");
  verbs.add("verb", &f.verb, "Models", "list: all; promote: one");
  verbs.choices("verb", {"list", "promote"});
  verbs.add("name", &f.name, "Models", "promote: which");
  verbs.positional("verb");
  verbs.positional("name");
  add_flags(models, verbs, "");
  CommandSheet init{.name = "init", .summary = "begin", .group = "Train"};
  Schema first("hone init", "begin");
  first.add("task", &f.kind, "What", "what is learnt");
  first.choices("task", {"sorting", "counting"});
  first.positional("task");
  add_flags(init, first, "");
  const CommandSheet script{.name = "run_it",
                            .summary = "as train",
                            .group = "Others",
                            .own_page = false,
                            .same_as = "train"};
  return {train, models, script, init};
}

// Words that bash offers for the last word of a line, in the order of compgen.
std::string bash_offers(const std::vector<std::string>& words) {
  std::string line = "COMP_WORDS=(";
  for (const std::string& w : words) line += " '" + w + "'";
  line += fmt::format("); COMP_CWORD={}; _hone; echo \"${{COMPREPLY[*]}}\"", words.size() - 1);
  const auto done = run_command(
      {"bash", "--norc", "-c", completion_script("bash", example_sheets()) + "\n" + line});
  if (!done.ok()) return done.error().text();
  EXPECT_EQ(done->err, "");
  return std::string(trim(done->out));
}

TEST(Manual, BashCompletesALine) {
  EXPECT_EQ(bash_offers({"hone", ""}), "train models run_it init help");
  EXPECT_EQ(bash_offers({"hone", "tr"}), "train");
  EXPECT_EQ(bash_offers({"hone", "help", "mo"}), "models");
  EXPECT_EQ(bash_offers({"hone", "help", "models", ""}), "list promote all");
  EXPECT_EQ(bash_offers({"hone", "train", "--"}),
            "--kind --file --rate --fast --to --config --color --help");
  EXPECT_EQ(bash_offers({"hone", "run_it", "--k"}), "--kind");
  EXPECT_EQ(bash_offers({"hone", "train", "--kind", ""}), "alpha beta");
  EXPECT_EQ(bash_offers({"hone", "train", "--kind", "=", "b"}), "beta");
  EXPECT_EQ(bash_offers({"hone", "train", "--kind", "="}), "alpha beta");
  EXPECT_EQ(bash_offers({"hone", "train", "--rate", ""}), "");
  EXPECT_EQ(bash_offers({"hone", "train", "--to", "x", "y"}), "y");
  EXPECT_EQ(bash_offers({"hone", "train", "--fast", "--ra"}), "--rate");
  EXPECT_EQ(bash_offers({"hone", "train", "--file", "/et"}), "/etc");
  EXPECT_EQ(bash_offers({"hone", "models", ""}), "list promote");
  EXPECT_EQ(bash_offers({"hone", "init", "so"}), "sorting");
  EXPECT_EQ(bash_offers({"hone", "help", "--comp"}), "--completion");
  EXPECT_EQ(bash_offers({"hone", "help", "--completion", ""}), "bash zsh fish");
  EXPECT_EQ(bash_offers({"hone", "models", "list", "--"}), "--config --color --help");
  EXPECT_EQ(bash_offers({"hone", "models", "promote", "--"}), "--name --config --color --help");
}

TEST(Manual, EveryShellHasEachCommandAndFlag) {
  for (const std::string& shell : completion_shells()) {
    const std::string script = completion_script(shell, example_sheets());
    for (const char* word :
         {"train", "models", "run_it", "rate", "alpha", "promote", "sorting", "families"})
      EXPECT_NE(script.find(word), std::string::npos) << shell << " " << word;
  }
}

TEST(Manual, DescriptionsAreShort) {
  EXPECT_NE(completion_script("zsh", example_sheets()).find("'--name:which'\n"), std::string::npos);
  EXPECT_EQ(first_clause("folder or URL; and more"), "folder or URL");
  EXPECT_EQ(first_clause("peak rate [5e-05]"), "peak rate");
  const std::string cut = first_clause(std::string(60, 'x') + " " + std::string(60, 'y'));
  EXPECT_EQ(cut, std::string(60, 'x') + "...");
}

TEST(Manual, PagesAreRoff) {
  const auto pages = man_pages(example_sheets(), "1.2");
  ASSERT_EQ(pages.size(), 4u);  // none for run_it
  EXPECT_NE(pages.at("hone.1").find(".BR hone\\-train (1)\n"), std::string::npos);
  EXPECT_NE(pages.at("hone.1").find(".B hone run_it\n"), std::string::npos);
  const std::string& train = pages.at("hone-train.1");
  EXPECT_NE(train.find(".B \\-\\-rate NUMBER\n"), std::string::npos) << train;
  EXPECT_NE(train.find("\n\\&.hidden files too\n"), std::string::npos) << train;
  EXPECT_NE(train.find("a rate \\e of \\(ti 1 [0.5]\n"), std::string::npos) << train;
  EXPECT_NE(train.find("kind of \\(aqit\\(aq"), std::string::npos) << train;
  // A line that begins with a dot is a macro of man(7), and no line is empty.
  for (const auto& [name, text] : pages)
    for (const std::string& line : split(trim(text), '\n')) {
      EXPECT_FALSE(line.empty()) << name;
      if (!line.starts_with('.')) continue;
      const std::string macro = line.substr(1, line.find(' ') - 1);
      const std::vector<std::string> known = {"TH", "SH", "SS", "TP", "B", "BR", "I", "RI", "br"};
      EXPECT_NE(std::find(known.begin(), known.end(), macro), known.end()) << name << ": " << line;
    }
}

}  // namespace
}  // namespace hone
