// Chat templates that other programs know by a name, from the texts around their messages.
#pragma once

#include <string>

namespace hone {

// The texts are expressions of the template language: "'<|im_start|>user\n'", "bos_token".
struct ChatFormat {
  std::string name;
  std::string start = "''";              // before all messages
  std::string system_begin, system_end;  // around the system's message
  std::string user_begin, user_end;      // around a user's
  std::string answer_begin = "''";       // before an answer, and after a prompt
  std::string answer_end;                // after an answer; learnt
  std::string after_answer = "''";       // then; not learnt
  std::string usual_system = "";         // the system's message if the chat has none
  bool system_in_user = false;           // the system's message is in the first user's
  bool trims = false;                    // blanks around messages are left out
};

// The source of the template. It marks answers by {% generation %}, and refuses other roles than system,
// user and assistant.
std::string chat_template_of(const ChatFormat& format);

}  // namespace hone
