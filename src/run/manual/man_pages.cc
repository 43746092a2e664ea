#include "run/manual/man_pages.h"

#include "base/core/text.h"

namespace hone {
namespace {

// Text that roff prints as it is. A hyphen of a flag must not become a typographic one.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string page_name(const CommandSheet& c) { return "hone-" + c.name; }

std::string page_head(const std::string& name, const std::string& summary,
                      const std::string& version) {
  return fmt::format(".TH {} 1 \"\" \"hone {}\" \"hone manual\"\n.SH NAME\n{} \\- {}\n",
                     roff(upper(name)), roff(version), roff(name), roff(summary));
}

// A paragraph with a hanging tag in bold.
std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(tag), roff(text));
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nsomething to correct: the message says what\n"
    ".TP\n.B 2\na mistake in the command line or the settings\n.TP\n.B 3\na bug in hone\n";

std::string command_page(const CommandSheet& c, const std::string& version) {
  std::string text = page_head(page_name(c), c.summary, version);
  text += fmt::format(".SH SYNOPSIS\n.B hone {}\n", roff(c.name));
  for (const std::string& p : c.positional) text += fmt::format(".I {}\n", roff(upper(p)));
  text += ".RI [ \\-\\-setting\\ value\\ .\\|.\\|. ]\n";
  if (!c.verbs.empty()) {
    text += ".SH VERBS\n";
    for (const Verb& v : c.verbs) text += tagged(v.name, v.summary);
  }
  text += ".SH OPTIONS\n";
  std::string section;
  for (const FlagSheet& f : c.flags) {
    if (const std::string at = f.part.empty() ? f.group : f.part; at != section) {
      text += fmt::format(".SS {}\n", roff(at));
      section = at;
    }
    text += tagged(f.form, f.text);
  }
  text +=
      ".SH ENVIRONMENT\nA variable such as HONE_SEED sets the option of its name. Later wins: "
      "default, "
      "settings file, variable, option.\n";
  return text + kExitStatus + ".SH SEE ALSO\n.BR hone (1)\n";
}

std::string overview_page(const std::vector<CommandSheet>& commands, const std::string& version) {
  std::string text = page_head("hone", "fine-tune Hugging Face models", version);
  text +=
      ".SH SYNOPSIS\n.B hone\n.I COMMAND\n.RI [ VERB ]\n.RI [ \\-\\-setting\\ value\\ .\\|.\\|. "
      "]\n.RI [ settings.yaml ]\n.br\n.B hone help\n.RI [ COMMAND\\ [ VERB ]\\ |\\ ERROR ]\n";
  text += ".SH COMMANDS\n";
  std::string group, pages;
  for (const CommandSheet& c : commands) {
    if (c.group != group) text += fmt::format(".SS {}\n", roff(c.group));
    group = c.group;
    if (c.own_page) {
      text += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(c)), roff(c.summary));
    } else {
      text += tagged("hone " + c.name, c.summary);
    }
  }
  return text + kExitStatus;
}

}  // namespace

std::map<std::string, std::string> man_pages(const std::vector<CommandSheet>& commands,
                                             const std::string& version) {
  std::map<std::string, std::string> pages;
  pages["hone.1"] = overview_page(commands, version);
  for (const CommandSheet& c : commands)
    if (c.own_page) pages[page_name(c) + ".1"] = command_page(c, version);
  return pages;
}

}  // namespace hone
