// The flags that commands describe, for help, completion and manual pages.
#include <gtest/gtest.h>

#include "run/commands/command.h"

namespace hone {
namespace {

TEST(Sheets, EveryCommandDescribesItself) {
  for (const Command& c : all_command()) {
    const Result<CommandSheet> sheet = sheet_of(c);
    ASSERT_TRUE(sheet.ok()) << c.name << ": " << sheet.error().text();
    EXPECT_TRUE(!sheet->flags.empty() || !sheet->same_as.empty()) << c.name;
    for (const Verb& v : sheet->verbs) EXPECT_FALSE(v.summary.empty()) << c.name << " " << v.name;
    for (const FlagSheet& f : sheet->flags) {
      EXPECT_FALSE(c.in.group != CommandGroup::kOtherPrograms && f.text.empty())
          << c.name << " --" << f.name;
      EXPECT_EQ(f.text.find('\n'), std::string::npos) << c.name << " --" << f.name;
    }
  }
}

TEST(Sheets, AVerbHasItsFlagsAlone) {
  for (const Command& c : all_command()) {
    if (c.name != "models") continue;
    const CommandSheet sheet = *sheet_of(c);
    std::vector<std::string> names;
    for (const FlagSheet* f : flags_of_verb(sheet, "promote")) names.push_back(f->name);
    const auto has = [&](const char* name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    EXPECT_TRUE(has("reason") && has("alias") && has("registry"));
    EXPECT_FALSE(has("policy") || has("metrics") || has("verb"));
  }
}

}  // namespace
}  // namespace hone
