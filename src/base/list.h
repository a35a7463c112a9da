// Intrusive doubly linked list. Removing needs no name of the list.
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev, *next; // of a head: last and first; of an unlinked node: itself
};

#define LIST_INIT(name)                                                                                                \
    { &(name), &(name) }

static inline void list_init(struct list *l) {
    l->prev = l->next = l;
}
static inline bool list_empty(const struct list *l) {
    return l->next == l;
}
static inline bool list_linked(const struct list *node) {
    return node->next != node && node->next != NULL;
}
static inline void list_push(struct list *head, struct list *node) { // at the end
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}
static inline void list_push_front(struct list *head, struct list *node) {
    list_push(head->next, node);
}
static inline void list_remove(struct list *node) { // harmless on an unlinked, initialised node
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}
static inline struct list *list_pop(struct list *head) { // NULL when empty
    struct list *node = head->next;
    if (node == head) {
        return NULL;
    }
    list_remove(node);
    return node;
}
// Moves all nodes of `from` to the end of `to`.
static inline void list_splice(struct list *to, struct list *from) {
    if (!list_empty(from)) {
        from->next->prev = to->prev;
        to->prev->next = from->next;
        from->prev->next = to;
        to->prev = from->prev;
        list_init(from);
    }
}

// The node under the cursor may be removed and freed in the body.
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared cannot be in them
#define LIST_EACH(node, head)                                                                                          \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);                                  \
         node = node##_next, node##_next = node->next)
// NOLINTEND(bugprone-macro-parentheses)

#endif
