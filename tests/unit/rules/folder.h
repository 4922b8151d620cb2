/* A temporary folder of rule files. */
#ifndef TL_TESTS_RULES_FOLDER_H
#define TL_TESTS_RULES_FOLDER_H

#include <stddef.h>

/* A sound rule named "sound" that tests change piece by piece. */
extern const char *const sound_rule;

/* Makes a folder under the system's temporary one; its path is static. */
const char *folder_make(void);
void folder_add(const char *name, const char *text, size_t len);
/* sound_rule with the first occurrence of piece replaced, as NAME. */
void folder_add_changed(const char *name, const char *piece, const char *by);
/* Another rule's text, changed like that. */
void folder_add_text_changed(const char *name, const char *rule, const char *piece, const char *by);
void folder_remove(void);

#endif
