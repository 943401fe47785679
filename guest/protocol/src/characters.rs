//! Characters that are not what they seem: one list for identifiers, renderings and terminals.

/// Whether a character acts, shows as nothing, or changes the direction of what stands beside it: C0, DEL and the C1
/// controls; line and paragraph separators; bidirectional controls; and Default_Ignorable_Code_Point of Unicode, with the
/// interlinear annotation marks.
pub const fn unseen(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1F}'
        | '\u{7F}'..='\u{9F}'
        | '\u{AD}'
        | '\u{34F}'
        | '\u{61C}'
        | '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether a character may close or open a frame around text that a model reads: angle brackets, which frames of harnesses
/// and chat formats are made of.
pub const fn frames(character: char) -> bool {
    matches!(character, '<' | '>')
}
