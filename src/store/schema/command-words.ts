/** Lists of words for CHECK constraints, as SQL. */
export const commandKinds = "'place', 'replace', 'cancel'";

/** `isFinal` of domain/command.ts. */
export const finalStates = "'refused', 'not_sent', 'applied', 'rejected', 'moot'";

export const attemptStates = "'prepared', 'sending', 'not_sent', 'refused', 'rejected', 'accepted', 'unknown'";

export const evidenceKinds = "'answer', 'update', 'read', 'note', 'person'";
